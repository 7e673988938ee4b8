// train.compression: what a shard leaves out of a step is with its replica and that one's buddy. Real
// processes are killed, stopped and sent away; the weights are those of a run that nothing happened to.
#include <gtest/gtest.h>
#include <signal.h>

#include <map>

#include "tests/cluster/blows.hpp"

namespace muster::compression_test {
namespace {

using namespace muster::cluster_test;

// Whether what a test says holds for top-k or for PowerSGD.
const std::string kTopK = "name = \"top-k\"\nratio = 0.1\n", kPowerSgd = "name = \"powersgd\"\nrank = 1\n";

std::string job_of(const std::string& compression, const std::string& checkpoint_every = {},
                   const std::string& folder = {}) {
  std::string text = linear_job();
  text.replace(text.find("epochs = 2"), 10, "epochs = 150\nevaluate = false");
  text += "\n[train.compression]\n" + compression;
  if (!folder.empty())
    text += "\n[checkpoint]\nfolder = \"" + folder + "\"\nevery = \"" + checkpoint_every + "\"\nkeep = 3\n";
  return text;
}

class Compression : public ::testing::TestWithParam<std::string> {
 protected:
  static std::string job(const std::string& checkpoint_every = {}, const std::string& folder = {}) {
    return job_of(GetParam(), checkpoint_every, folder);
  }
  static const Trained& undisturbed() {
    static std::map<std::string, Trained> runs;
    const auto [run, first] = runs.try_emplace(GetParam());
    if (first) run->second = run_with(job(), {}, {});
    return run->second;
  }
  static void expect_the_same(const Trained& run) { expect_same_outcome(run, undisturbed()); }
};

TEST_P(Compression, HasTheSameBitsOnAnyTransportAndIsNotTheWholeGradient) {
  expect_the_same(run_with(job(), {}, {}, {{"UCX_TLS", "tcp"}}));
  expect_the_same(run_with(job(), {}, {}, {{"UCX_TLS", "tcp,self"}, {"UCX_NET_DEVICES", "lo"}}));
  expect_the_same(run_with(job(), {"train.compression.second_copy=any_host"}, {}));
  const Folder folder;
  const RunResult alone = run_job(folder.write("job.toml", job()), folder, {"--replicas", "1"});
  ASSERT_EQ(alone.outcome.code, 0) << alone.outcome.err;
  EXPECT_EQ(alone.report["weights_sha256"], undisturbed().report["weights_sha256"]);
  const Trained all = run_with(job_of("name = \"none\"\n"), {}, {});
  EXPECT_NE(all.report["weights_sha256"], undisturbed().report["weights_sha256"]);
}

// What is clipped is what compression leaves of the mean; what it left out is not.
TEST_P(Compression, IsClippedOnAnyNumberOfReplicas) {
  const Folder folder;
  const std::string file = folder.write("job.toml", job());
  const auto weights = [&](const std::string& replicas, const std::string& bound) -> std::string {
    const RunResult run =
        run_job(file, folder,
                {"--replicas", replicas, "--set", "train.clip_norm=" + bound, "--set", "train.epochs=3"});
    EXPECT_EQ(run.outcome.code, 0) << run.outcome.err;
    return run.report["weights_sha256"];
  };
  const std::string clipped = weights("1", "0.05");
  EXPECT_EQ(weights("3", "0.05"), clipped);
  EXPECT_NE(weights("2", "1000.0"), clipped);
}

TEST_P(Compression, AReplicaIsKilledAndItsBuddyHasTheStatesOfItsShards) {
  const Trained run = run_with(job(), {}, {{5, {1}, SIGKILL}});
  expect_the_same(run);
  EXPECT_EQ(run.count("lost"), 1);
  EXPECT_EQ(run.count("went_back"), 0);
}

TEST_P(Compression, OneAfterTheOtherIsKilled) {
  const Trained run = run_with(job(), {}, {{4, {0}, SIGKILL}, {40, {3}, SIGKILL}, {80, {1}, SIGKILL}});
  expect_the_same(run);
  EXPECT_EQ(run.count("lost"), 3);
  EXPECT_EQ(run.count("went_back"), 0);
}

TEST_P(Compression, OneIsStoppedForLongerThanThePatience) {
  const Trained run = run_with(job(), {}, {{5, {2}, SIGSTOP}});
  expect_the_same(run);
  EXPECT_EQ(run.count("lost"), 1);
}

// On one host the buddy of a replica is the next one.
TEST_P(Compression, AReplicaAndItsBuddyAreKilledAtOnceAndAllGoBackToTheBeginning) {
  const Trained run = run_with(job(), {}, {{5, {1, 2}, SIGKILL}});
  expect_the_same(run);
  EXPECT_EQ(run.count("went_back"), 1);
}

TEST_P(Compression, AReplicaAndItsBuddyAreKilledAtOnceAndAllGoBackToTheLastCheckpoint) {
  const Folder kept;
  const Trained run = run_with(job("7 steps", kept.path("checkpoints")), {}, {{20, {2, 3}, SIGKILL}});
  expect_the_same(run);
  EXPECT_EQ(run.count("went_back"), 1);
  EXPECT_GT(run.count("checkpoint"), 2);
}

TEST_P(Compression, ThoseWhoAreSentAwayTogetherLeaveNothingUndone) {
  const Trained run = run_with(job(), {}, {{5, {1, 2}, SIGTERM}});
  expect_the_same(run);
  EXPECT_GE(run.count("left"), 2);
  EXPECT_EQ(run.count("lost"), 0);
  EXPECT_EQ(run.count("went_back"), 0);
}

TEST_P(Compression, ACheckpointHasTheStatesOfAllShardsForAnyNumberOfReplicas) {
  const Folder kept;
  const Folder folder;
  const std::string file = folder.write("job.toml", job("50 steps", kept.path("checkpoints")));
  const auto go = [&](const Arguments& more) { return run_job(file, folder, more); };
  const RunResult first = go({"--replicas", "3", "--set", "train.epochs=40"});
  ASSERT_EQ(first.outcome.code, 0) << first.outcome.err;
  const RunResult second = go({"--replicas", "1", "--resume", "--set", "train.epochs=80"});
  ASSERT_EQ(second.outcome.code, 0) << second.outcome.err;
  const RunResult third = go({"--replicas", "4", "--resume"});
  ASSERT_EQ(third.outcome.code, 0) << third.outcome.err;
  EXPECT_EQ(third.report["weights_sha256"], undisturbed().report["weights_sha256"]);
}

INSTANTIATE_TEST_SUITE_P(Of, Compression, ::testing::Values(kTopK, kPowerSgd),
                         [](const auto& of) { return of.param == kTopK ? "TopK" : "PowerSgd"; });

}  // namespace
}  // namespace muster::compression_test
