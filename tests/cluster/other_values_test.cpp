// A run that goes on with other values than it began with, and one that begins with given weights.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cluster/muster_process.hpp"

namespace muster::other_values_test {
namespace {

using namespace muster::cluster_test;

/// A run of two epochs whose checkpoints lie in `kept`.
struct Begun {
  Begun() : job(folder.write("job.toml", linear_job())) {
    first = run_job(job, folder, {"--set", kept(), "--set", "checkpoint.every=1 epoch"});
    EXPECT_EQ(first.outcome.code, 0) << first.outcome.err;
  }
  std::string kept() const { return "checkpoint.folder=" + folder.path("kept"); }
  RunResult go_on(const Arguments& more) const {
    Arguments arguments{"--set", kept(), "--set", "train.epochs=4", "--resume"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_job(job, folder, arguments);
  }
  /// Cuts the weights of every checkpoint behind this step.
  void damage_after(int step) const {
    for (const auto& file : std::filesystem::directory_iterator(folder.path("kept"))) {
      const std::string name = file.path().filename();
      const auto at = name.find("-step-");
      if (at == std::string::npos || file.path().extension() != ".safetensors") continue;
      if (std::stoi(name.substr(at + 6)) > step) std::filesystem::resize_file(file.path(), 100);
    }
  }
  std::string weights() const { return first.report["checkpoint"].get<std::string>(); }

  Folder folder;
  std::string job;
  RunResult first;
};

const Arguments kOtherRate{"--set", "train.optimizer.learning_rate=0.002"};

Arguments with(Arguments all, const Arguments& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(OtherValues, ResumeNamesTheKeyThatDiffers) {
  const Begun begun;
  const RunResult refused = begun.go_on(kOtherRate);
  EXPECT_EQ(refused.outcome.code, 2);
  const std::string& said = refused.outcome.err;
  EXPECT_NE(said.find("train.optimizer.learning_rate.initial: 0.01 there, 0.002 in this job"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("add --accept train.optimizer.learning_rate"), std::string::npos) << said;
}

TEST(OtherValues, AcceptGoesOnWithThemAndTheSameBitsOnAnyReplicas) {
  const Begun begun, again;
  const Arguments accepted = with(kOtherRate, {"--accept", "train.optimizer.learning_rate"});
  const RunResult two = begun.go_on(accepted), three = again.go_on(with(accepted, {"--replicas", "3"}));
  ASSERT_EQ(two.outcome.code, 0) << two.outcome.err;
  EXPECT_EQ(two.report["steps"], 2 * begun.first.report["steps"].get<int>());
  EXPECT_EQ(two.report["ledger"].size(), 4u);
  EXPECT_EQ(two.outcome.err.find("passed over"), std::string::npos) << two.outcome.err;
  const auto resumed = std::ranges::find_if(two.report["events"],
                                            [](const Json& event) { return event["event"] == "resumed"; });
  ASSERT_NE(resumed, two.report["events"].end());
  EXPECT_EQ((*resumed)["passed_over"], "") << "it goes on from this very checkpoint";
  EXPECT_EQ(two.report["weights_sha256"], three.report["weights_sha256"]);
  const RunResult plain = begun.go_on({});
  ASSERT_EQ(plain.outcome.code, 0) << plain.outcome.err;
  EXPECT_NE(two.report["weights_sha256"], plain.report["weights_sha256"]) << "the other rate had no effect";
}

// Behind it the checkpoints are this job's own: a later --resume goes on from the newest of them.
TEST(OtherValues, WhatWasAcceptedOnceIsThisJobsOwn) {
  const Begun begun;
  ASSERT_EQ(begun.go_on(with(kOtherRate, {"--accept", "train.optimizer.learning_rate"})).outcome.code, 0);
  const RunResult further = begun.go_on(with(kOtherRate, {"--set", "train.epochs=5"}));
  ASSERT_EQ(further.outcome.code, 0) << further.outcome.err;
  EXPECT_EQ(further.report["ledger"].size(), 5u);
}

TEST(OtherValues, OneThatIsDamagedIsPassedOver) {
  const Begun begun;
  std::filesystem::resize_file(begun.weights(), 100);
  const RunResult older = begun.go_on(with(kOtherRate, {"--accept", "train.optimizer.learning_rate"}));
  ASSERT_EQ(older.outcome.code, 0) << older.outcome.err;
  EXPECT_EQ(older.report["ledger"].size(), 4u);
  EXPECT_NE(older.outcome.err.find("resumed after step 16, epoch 2"), std::string::npos) << older.outcome.err;
}

TEST(OtherValues, AnOptimizerWithOtherVectorsIsRefusedAndLeavesNothing) {
  const Begun begun;
  const RunResult refused =
      begun.go_on({"--set", "train.optimizer.momentum=0.9", "--accept", "train.optimizer.momentum"});
  EXPECT_EQ(refused.outcome.code, 2);
  EXPECT_NE(refused.outcome.err.find("its optimizer holds other vectors"), std::string::npos)
      << refused.outcome.err;
  EXPECT_EQ(begun.go_on({}).outcome.code, 0);
}

// Of this job's own ones none is whole: an older one of the other job is better than none.
TEST(OtherValues, DamagedOnesOfThisJobDoNotHideWholeOnesOfAnother) {
  const Begun begun;
  const Arguments accepted = with(kOtherRate, {"--accept", "train.optimizer.learning_rate"});
  const RunResult further = begun.go_on(accepted);
  ASSERT_EQ(further.outcome.code, 0) << further.outcome.err;
  begun.damage_after(begun.first.report["steps"]);
  const RunResult again = begun.go_on(accepted);
  ASSERT_EQ(again.outcome.code, 0) << again.outcome.err;
  EXPECT_EQ(again.report["weights_sha256"], further.report["weights_sha256"]);
}

TEST(OtherValues, ANewerOneOfAnotherJobIsNamed) {
  const Begun begun;
  const RunResult further = begun.go_on(with(kOtherRate, {"--accept", "train.optimizer.learning_rate"}));
  ASSERT_EQ(further.outcome.code, 0) << further.outcome.err;
  const RunResult back = begun.go_on({"--set", "train.epochs=3"});
  ASSERT_EQ(back.outcome.code, 0) << back.outcome.err;
  const std::string& said = back.outcome.err;
  EXPECT_NE(said.find("; a newer one, of step " + std::to_string(further.report["steps"].get<int>()) +
                      ", is of a job that differs from this one in"),
            std::string::npos)
      << said;
}

TEST(OtherValues, AcceptThatHasNoEffectIsSaid) {
  const Begun begun;
  const RunResult own = begun.go_on({"--accept", "train.clip_norm"});
  ASSERT_EQ(own.outcome.code, 0) << own.outcome.err;
  EXPECT_NE(own.outcome.err.find("--accept had nothing to accept"), std::string::npos) << own.outcome.err;
}

// The newest one lies behind the end that is asked for now.
TEST(OtherValues, OneOnTheWayToTheEndIsTaken) {
  const Begun begun;
  const RunResult shorter =
      begun.go_on(with(kOtherRate, {"--accept", "train.optimizer.learning_rate", "--set", "train.epochs=1"}));
  ASSERT_EQ(shorter.outcome.code, 0) << shorter.outcome.err;
  EXPECT_EQ(shorter.report["ledger"].size(), 1u);
}

TEST(OtherValues, WhatTheStateDependsOnIsNotAccepted) {
  const Begun begun;
  const RunResult refused = begun.go_on({"--set", "train.batch=8", "--accept", "train.batch"});
  EXPECT_EQ(refused.outcome.code, 2);
  EXPECT_NE(refused.outcome.err.find("with another value of train.batch no run can go on"), std::string::npos)
      << refused.outcome.err;
}

TEST(OtherValues, AKeyThatIsNoneIsRefused) {
  const Folder folder;
  const std::string job = folder.write("job.toml", linear_job());
  const Outcome refused = run_muster({"run", job, "--resume", "--accept", "train.optimiser.learning_rate"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("did you mean train.optimizer.learning_rate?"), std::string::npos)
      << refused.err;
  const Outcome without = run_muster({"run", job, "--accept", "train.clip_norm"});
  EXPECT_EQ(without.code, 2);
  EXPECT_NE(without.err.find("--accept is for --resume"), std::string::npos) << without.err;
}

// Steps of rate 0 leave the weights as they were given.
TEST(StartFrom, ARunBeginsWithTheGivenWeights) {
  const Begun begun;
  const Folder folder;
  const RunResult still = run_job(begun.job, folder,
                                  {"--set", "checkpoint.start_from=" + begun.weights(), "--set",
                                   "train.optimizer.learning_rate=1e-300", "--set", "train.epochs=1"});
  ASSERT_EQ(still.outcome.code, 0) << still.outcome.err;
  EXPECT_EQ(still.report["weights_sha256"], begun.first.report["weights_sha256"]);
  EXPECT_EQ(still.report["ledger"].size(), 1u) << "it is a new run";
}

TEST(StartFrom, WeightsOfAnotherModelAreNamed) {
  const Begun begun;
  const Folder folder;
  const RunResult wrong = run_job(begun.job, folder,
                                  {"--set", "checkpoint.start_from=" + begun.weights(), "--set",
                                   "model.outputs=4", "--set", "data.outputs=4"});
  EXPECT_EQ(wrong.outcome.code, 2);
  EXPECT_NE(wrong.outcome.err.find("checkpoint.start_from: "), std::string::npos) << wrong.outcome.err;
  EXPECT_NE(wrong.outcome.err.find("shapes differ: "), std::string::npos) << wrong.outcome.err;
  EXPECT_NE(wrong.outcome.err.find("is [3, 8] there and [4, 8] in the model"), std::string::npos)
      << wrong.outcome.err;
}

TEST(StartFrom, AFileThatIsNotThereIsRefused) {
  const Folder folder;
  const RunResult wrong = run_job(folder.write("job.toml", linear_job()), folder,
                                  {"--set", "checkpoint.start_from=" + folder.path("none.safetensors")});
  EXPECT_EQ(wrong.outcome.code, 2);
  EXPECT_NE(wrong.outcome.err.find("checkpoint.start_from: no such file"), std::string::npos)
      << wrong.outcome.err;
}

// The name is free: what is in the file is part of the mathematics.
TEST(StartFrom, ResumeWithOtherWeightsAtTheStartIsAnotherJob) {
  const Begun begun, other;
  const Folder folder;
  const std::string kept = "checkpoint.folder=" + folder.path("kept");
  const std::string copy = folder.path("copy.safetensors");
  const Arguments starts{"--set", kept, "--set", "checkpoint.start_from=" + begun.weights()};
  ASSERT_EQ(run_job(begun.job, folder, starts).outcome.code, 0);
  std::filesystem::copy_file(begun.weights(), copy);
  const RunResult moved = run_job(
      begun.job, folder,
      {"--set", kept, "--set", "checkpoint.start_from=" + copy, "--set", "train.epochs=3", "--resume"});
  EXPECT_EQ(moved.outcome.code, 0) << moved.outcome.err;
  const RunResult without =
      run_job(begun.job, folder, {"--set", kept, "--set", "train.epochs=3", "--resume"});
  EXPECT_EQ(without.outcome.code, 2);
  EXPECT_NE(without.outcome.err.find("checkpoint.start_from (its content): "), std::string::npos)
      << without.outcome.err;
}

}  // namespace
}  // namespace muster::other_values_test
