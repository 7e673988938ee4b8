// train.shard_optimizer: each replica holds a part of the optimizer's vectors, and another one's second copy.
// Real processes are killed, stopped and sent away; the weights are those of a run with a whole optimizer.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/cluster/blows.hpp"

namespace muster::sharded_optimizer_test {
namespace {

using namespace muster::cluster_test;
using namespace std::chrono_literals;

std::string adam_job(const std::string& checkpoint_every = {}, const std::string& folder = {}) {
  std::string text = linear_job();
  const std::string optimizer = "name = \"sgd\"";
  if (const auto at = text.find(optimizer); at != std::string::npos)
    text.replace(at, optimizer.size(), "name = \"adamw\"\nweight_decay = 0.01");
  text.replace(text.find("epochs = 2"), 10, "epochs = 150\nevaluate = false");
  if (!folder.empty())
    text += "\n[checkpoint]\nfolder = \"" + folder + "\"\nevery = \"" + checkpoint_every + "\"\nkeep = 3\n";
  return text;
}

const Trained& whole() {
  static const Trained run = run_with(adam_job(), {}, {});
  return run;
}

void expect_the_same(const Trained& run) {
  expect_same_outcome(run, whole());
}

const std::vector<std::string> kSharded{"train.shard_optimizer=true"};

TEST(ShardedOptimizer, HasTheBitsOfAWholeOne) {
  expect_the_same(run_with(adam_job(), kSharded, {}));
  expect_the_same(run_with(adam_job(), kSharded, {}, {{"UCX_TLS", "tcp"}}));
  expect_the_same(run_with(adam_job(), kSharded, {}, {{"UCX_TLS", "tcp,self"}, {"UCX_NET_DEVICES", "lo"}}));
}

TEST(ShardedOptimizer, AnOwnerIsKilledAndItsBuddyHasItsPart) {
  const Trained run = run_with(adam_job(), kSharded, {{5, {1}, SIGKILL}});
  expect_the_same(run);
  EXPECT_EQ(run.count("lost"), 1);
  EXPECT_EQ(run.count("went_back"), 0);
}

TEST(ShardedOptimizer, OneAfterTheOtherIsKilled) {
  const Trained run =
      run_with(adam_job(), kSharded, {{4, {0}, SIGKILL}, {40, {3}, SIGKILL}, {80, {1}, SIGKILL}});
  expect_the_same(run);
  EXPECT_EQ(run.count("lost"), 3);
  EXPECT_EQ(run.count("went_back"), 0);
}

TEST(ShardedOptimizer, OneIsStoppedForLongerThanThePatience) {
  const Trained run = run_with(adam_job(), kSharded, {{5, {2}, SIGSTOP}});
  expect_the_same(run);
  EXPECT_EQ(run.count("lost"), 1);
}

// On one host the buddy of a replica is the next one.
TEST(ShardedOptimizer, OwnerAndBuddyAreKilledAtOnceAndAllGoBackToTheBeginning) {
  const Trained run = run_with(adam_job(), kSharded, {{5, {1, 2}, SIGKILL}});
  expect_the_same(run);
  EXPECT_EQ(run.count("went_back"), 1);
}

TEST(ShardedOptimizer, OwnerAndBuddyAreKilledAtOnceAndAllGoBackToTheLastCheckpoint) {
  const Folder kept;
  const std::string job = adam_job("7 steps", kept.path("checkpoints"));
  const Trained run = run_with(job, kSharded, {{20, {2, 3}, SIGKILL}});
  expect_the_same(run);
  EXPECT_EQ(run.count("went_back"), 1);
  EXPECT_GT(run.count("checkpoint"), 2);
}

TEST(ShardedOptimizer, ThoseWhoAreSentAwayTogetherLeaveNothingUndone) {
  const Trained run = run_with(adam_job(), kSharded, {{5, {1, 2}, SIGTERM}});
  expect_the_same(run);
  EXPECT_EQ(run.count("left") >= 2, true);
  EXPECT_EQ(run.count("lost"), 0);
  EXPECT_EQ(run.count("went_back"), 0);
}

// A checkpoint has the whole optimizer, whoever wrote it and whoever goes on from it.
TEST(ShardedOptimizer, CheckpointsAreThoseOfAWholeOne) {
  const Folder kept;
  const std::string job = adam_job("50 steps", kept.path("checkpoints"));
  const Folder folder;
  const std::string file = folder.write("job.toml", job);
  const auto go = [&](const Arguments& more) { return run_job(file, folder, more); };
  const RunResult first =
      go({"--replicas", "3", "--set", "train.shard_optimizer=true", "--set", "train.epochs=40"});
  ASSERT_EQ(first.outcome.code, 0) << first.outcome.err;
  const RunResult second = go({"--replicas", "2", "--resume", "--set", "train.epochs=80"});
  ASSERT_EQ(second.outcome.code, 0) << second.outcome.err;
  const RunResult third = go({"--replicas", "4", "--resume", "--set", "train.shard_optimizer=true"});
  ASSERT_EQ(third.outcome.code, 0) << third.outcome.err;
  EXPECT_EQ(third.report["weights_sha256"], whole().report["weights_sha256"]);
}

}  // namespace
}  // namespace muster::sharded_optimizer_test
