// A learning rate that is too high: the step whose gradient is NaN or Inf is named, with the
// parameter, and the weights before it are those that are left.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gpu/files/safetensors.hpp"
#include "tests/cluster/same_bits.hpp"

namespace muster::not_finite_test {
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

// The last checkpoint has the weights that were left, and the run can go on from it.
void expect_kept(const Ended& ended) {
  ASSERT_FALSE(ended.checkpoint.is_null()) << ended.run.report["reason"];
  EXPECT_EQ(ended.checkpoint["step"], ended.event["step"].get<int>() - 1);
  const std::string path = ended.checkpoint["path"], reason = ended.run.report["reason"];
  EXPECT_TRUE(all_finite(path));
  EXPECT_NE(reason.find("; the state is kept in " + path), std::string::npos) << reason;
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
    expect_kept(ended);
    if (first.is_null()) first = ended.event;
    for (const char* field : {"step", "parameter", "element", "value"})
      EXPECT_EQ(ended.event[field], first[field]) << field;
  }
}

// Each part of the optimizer has an owner, and what all get of it is the new state.
TEST(NotFinite, WithAShardedOptimizerAllLookAtTheNewState) {
  const Folder folder;
  const Ended ended = run_with(folder, {"cluster.replicas=3", "train.shard_optimizer=true"});
  EXPECT_EQ(ended.run.outcome.code, 1) << ended.run.outcome.err;
  ASSERT_FALSE(ended.event.is_null()) << ended.run.report["reason"];
  EXPECT_EQ(ended.event["what"], "new state");
  EXPECT_EQ(ended.event["parameter"], "bias");
  expect_kept(ended);
}

// That checkpoint stands before the step: a run that goes on from it does the step again.
TEST(NotFinite, ARunGoesOnFromTheWeightsThatWereKept) {
  const Folder folder;
  const std::vector<std::string> sets{"cluster.replicas=2", "train.optimizer.momentum=0.02",
                                      "train.optimizer.weight_decay=0.1"};
  const Ended ended = run_with(folder, sets);
  EXPECT_EQ(ended.run.outcome.code, 1) << ended.run.outcome.err;
  ASSERT_FALSE(ended.event.is_null()) << ended.run.report["reason"];
  expect_kept(ended);
  Arguments again = overrides(sets);
  for (const std::string& more :
       overrides({kTooHigh, "train.epochs=150", "train.evaluate=false", "train.not_finite=report",
                  "checkpoint.every=1000 steps", "checkpoint.folder=" + folder.path("kept")}))
    again.push_back(more);
  again.push_back("--resume");
  const RunResult run = run_job(folder.path("job.toml"), folder, again);
  EXPECT_EQ(run.outcome.code, 0) << run.outcome.err;
  Json first, resumed;
  for (const Json& event : run.report["events"]) {
    if (event["event"] == "resumed") resumed = event;
    if (event["event"] == "not_finite" && first.is_null()) first = event;
  }
  ASSERT_FALSE(first.is_null() || resumed.is_null());
  EXPECT_EQ(resumed["step"], ended.checkpoint["step"]);
  for (const char* field : {"step", "epoch", "parameter", "element", "value"})
    EXPECT_EQ(first[field], ended.event[field]) << field;
  expect_ledger(run.report, 150, 1237, 0);
}

TEST(NotFinite, CompressionHidesNothing) {
  for (const char* name : {"top-k", "powersgd"}) {
    const Folder folder;
    const Ended ended =
        run_with(folder, {"cluster.replicas=2", std::string("train.compression.name=") + name});
    EXPECT_EQ(ended.run.outcome.code, 1) << ended.run.outcome.err;
    ASSERT_FALSE(ended.event.is_null()) << ended.run.report["reason"];
    expect_kept(ended);
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
}  // namespace muster::not_finite_test
