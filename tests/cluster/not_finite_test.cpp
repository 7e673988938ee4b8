// A learning rate that is too high: the step whose gradient is infinite or not a number is named, with the
// parameter, and the weights before it are those that are left.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "muster/gpu/safetensors.hpp"
#include "tests/cluster/same_bits.hpp"

namespace {

using namespace muster::cluster_test;

constexpr const char* kTooHigh = "train.optimizer.learning_rate=1.05";

struct Ended {
  RunResult run;
  Json event;       ///< the only `not_finite`; null if there is none
  Json checkpoint;  ///< the last one
};

Ended run_with(const Folder& folder, std::vector<std::string> sets) {
  sets.insert(sets.end(), {kTooHigh, "train.epochs=150", "train.evaluate=false", "checkpoint.every=1 steps",
                           "checkpoint.folder=" + folder.path("kept")});
  Ended ended{run_job(folder.write("job.toml", linear_job()), folder, overrides(sets)), {}, {}};
  for (const Json& event : ended.run.report["events"]) {
    if (event["event"] == "checkpoint") ended.checkpoint = event;
    if (event["event"] != "not_finite") continue;
    EXPECT_TRUE(ended.event.is_null()) << event;
    ended.event = event;
  }
  return ended;
}

bool all_finite(const std::string& file) {
  const std::vector<float> state = muster::read_safetensors(file).state;
  return !state.empty() && std::ranges::all_of(state, [](float value) { return std::isfinite(value); });
}

// Of the last checkpoint; there may be none yet, for they are written beside the steps.
void expect_whole(const Ended& ended) {
  if (ended.checkpoint.is_null()) return;
  EXPECT_LT(ended.checkpoint["step"], ended.event["step"]);
  EXPECT_TRUE(all_finite(ended.checkpoint["path"]));
}

// The rate is below the samples of a step: so sums are too large before updates are.
TEST(NotFinite, TheRunEndsBeforeTheStepIsApplied) {
  Json first;
  for (const char* replicas : {"1", "2", "3"}) {
    const Folder folder;
    const Ended ended = run_with(folder, {std::string("cluster.replicas=") + replicas});
    EXPECT_EQ(ended.run.outcome.code, 1) << ended.run.outcome.err;
    ASSERT_FALSE(ended.event.is_null()) << ended.run.report["reason"];
    EXPECT_EQ(ended.event["what"], "mean gradient");
    EXPECT_EQ(ended.event["parameter"], "bias");
    EXPECT_EQ(ended.event["stops"], true);
    const std::string reason = ended.run.report["reason"];
    EXPECT_NE(reason.find(" of bias in the mean gradient of step "), std::string::npos) << reason;
    EXPECT_NE(reason.find("train.optimizer.learning_rate"), std::string::npos) << reason;
    EXPECT_NE(ended.run.outcome.err.find("bias in the mean gradient"), std::string::npos);
    expect_whole(ended);
    if (first.is_null()) first = ended.event;
    for (const char* field : {"step", "parameter", "element", "value"})
      EXPECT_EQ(ended.event[field], first[field]) << field;
  }
}

// Each part of the optimiser has an owner, and what all get of it is the new state.
TEST(NotFinite, WithAShardedOptimizerAllLookAtTheNewState) {
  const Folder folder;
  const Ended ended = run_with(folder, {"cluster.replicas=3", "train.shard_optimizer=true"});
  EXPECT_EQ(ended.run.outcome.code, 1) << ended.run.outcome.err;
  ASSERT_FALSE(ended.event.is_null()) << ended.run.report["reason"];
  EXPECT_EQ(ended.event["what"], "new state");
  EXPECT_EQ(ended.event["parameter"], "bias");
  expect_whole(ended);
}

TEST(NotFinite, CompressionHidesNothing) {
  for (const char* name : {"top-k", "powersgd"}) {
    const Folder folder;
    const Ended ended =
        run_with(folder, {"cluster.replicas=2", std::string("train.compression.name=") + name});
    EXPECT_EQ(ended.run.outcome.code, 1) << ended.run.outcome.err;
    ASSERT_FALSE(ended.event.is_null()) << ended.run.report["reason"];
    expect_whole(ended);
  }
}

TEST(NotFinite, AJobMayAskToBeToldOnly) {
  const Folder folder;
  const std::string file = folder.write("job.toml", linear_job());
  const RunResult run =
      run_job(file, folder,
              overrides({kTooHigh, "train.epochs=100", "train.evaluate=false", "train.not_finite=report"}));
  EXPECT_EQ(run.outcome.code, 0) << run.outcome.err;
  EXPECT_EQ(run.report["outcome"], "completed");
  EXPECT_EQ(run.report["steps"], 1600);
  std::int64_t last = 0;
  for (const Json& event : run.report["events"]) {
    if (event["event"] != "not_finite") continue;
    EXPECT_EQ(event["stops"], false);
    EXPECT_GT(event["step"], last);  // once a step
    last = event["step"];
  }
  EXPECT_EQ(last, 1600);
}

}  // namespace
