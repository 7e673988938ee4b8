// train.shard_optimizer: each replica holds a part of the optimiser's vectors, and another one's second copy.
// Real processes are killed, stopped and sent away; the weights are those of a run with a whole optimiser.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/cluster/muster_process.hpp"

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

struct Trained {
  Outcome outcome;
  Json report;
  int count(const std::string& event) const {
    return report["event_counts"].contains(event) ? report["event_counts"][event].get<int>() : 0;
  }
};

/// What is done at once to some replicas, when the epoch has ended.
struct Blow {
  int after_epoch;
  std::vector<int> replicas;
  int signal;
};

Trained run_with(const std::string& job, bool sharded, const std::vector<Blow>& blows,
                 const Environment& environment = {}) {
  const Folder folder;
  MusterProcess process(
      {"run", folder.write("job.toml", job), "--replicas", "4", "--events", "-", "--report",
       folder.path("report.json"), "--set", "cluster.on_loss=continue", "--set", "cluster.detect.patience=4s",
       "--set", std::string("train.shard_optimizer=") + (sharded ? "true" : "false")},
      environment);
  std::map<int, pid_t> pids;
  for (int slot = 0; slot < 4; ++slot) {
    const Json joined = process.event("joined");
    EXPECT_TRUE(joined.is_object());
    if (!joined.is_object()) return {process.wait(), {}};
    pids[joined["replica"].get<int>()] = joined["pid"].get<pid_t>();
  }
  for (const Blow& blow : blows) {
    EXPECT_TRUE(process.event("epoch", [&](const Json& event) { return event["epoch"] >= blow.after_epoch; })
                    .is_object());
    for (const int replica : blow.replicas) EXPECT_EQ(::kill(pids[replica], blow.signal), 0);
  }
  Trained run;
  run.outcome = process.wait();
  EXPECT_TRUE(process.none_left_within(2s));
  run.report = read_json(folder.path("report.json"));
  return run;
}

const Trained& whole() {
  static const Trained run = run_with(adam_job(), false, {});
  return run;
}

void expect_the_same(const Trained& run) {
  ASSERT_EQ(run.outcome.code, 0) << run.outcome.err;
  ASSERT_EQ(whole().outcome.code, 0) << whole().outcome.err;
  EXPECT_EQ(run.report["weights_sha256"], whole().report["weights_sha256"]);
  EXPECT_EQ(run.report["steps"], whole().report["steps"]);
  EXPECT_EQ(run.report["ledger"], whole().report["ledger"]);
}

TEST(ShardedOptimizer, HasTheBitsOfAWholeOne) {
  expect_the_same(run_with(adam_job(), true, {}));
  expect_the_same(run_with(adam_job(), true, {}, {{"UCX_TLS", "tcp"}}));
  expect_the_same(run_with(adam_job(), true, {}, {{"UCX_TLS", "tcp,self"}, {"UCX_NET_DEVICES", "lo"}}));
}

TEST(ShardedOptimizer, AnOwnerIsKilledAndItsBuddyHasItsPart) {
  const Trained run = run_with(adam_job(), true, {{5, {1}, SIGKILL}});
  expect_the_same(run);
  EXPECT_EQ(run.count("lost"), 1);
  EXPECT_EQ(run.count("went_back"), 0);
}

TEST(ShardedOptimizer, OneAfterTheOtherIsKilled) {
  const Trained run = run_with(adam_job(), true, {{4, {0}, SIGKILL}, {40, {3}, SIGKILL}, {80, {1}, SIGKILL}});
  expect_the_same(run);
  EXPECT_EQ(run.count("lost"), 3);
  EXPECT_EQ(run.count("went_back"), 0);
}

TEST(ShardedOptimizer, OneIsStoppedForLongerThanThePatience) {
  const Trained run = run_with(adam_job(), true, {{5, {2}, SIGSTOP}});
  expect_the_same(run);
  EXPECT_EQ(run.count("lost"), 1);
}

// On one host the buddy of a replica is the next one.
TEST(ShardedOptimizer, OwnerAndBuddyAreKilledAtOnceAndAllGoBackToTheBeginning) {
  const Trained run = run_with(adam_job(), true, {{5, {1, 2}, SIGKILL}});
  expect_the_same(run);
  EXPECT_EQ(run.count("went_back"), 1);
}

TEST(ShardedOptimizer, OwnerAndBuddyAreKilledAtOnceAndAllGoBackToTheLastCheckpoint) {
  const Folder kept;
  const std::string job = adam_job("7 steps", kept.path("checkpoints"));
  const Trained run = run_with(job, true, {{20, {2, 3}, SIGKILL}});
  expect_the_same(run);
  EXPECT_EQ(run.count("went_back"), 1);
  EXPECT_GT(run.count("checkpoint"), 2);
}

TEST(ShardedOptimizer, ThoseWhoAreSentAwayTogetherLeaveNothingUndone) {
  const Trained run = run_with(adam_job(), true, {{5, {1, 2}, SIGTERM}});
  expect_the_same(run);
  EXPECT_EQ(run.count("left") >= 2, true);
  EXPECT_EQ(run.count("lost"), 0);
  EXPECT_EQ(run.count("went_back"), 0);
}

// A checkpoint has the whole optimiser, whoever wrote it and whoever goes on from it.
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
