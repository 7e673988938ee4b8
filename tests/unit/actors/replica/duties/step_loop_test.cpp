#include "actors/replica/duties/step_loop.hpp"

#include <gtest/gtest.h>

#include "tests/support/linear_job.hpp"
#include "tests/unit/actors/replica/duties/duty_context.hpp"

namespace muster::step_loop_test {
namespace {

using testing::DutyContext;
using testing::ended_item;
using testing::item_with_rows;
using testing::last_as;

Job small_job() {
  Job job = testing::linear_job({.samples = 100});
  job.train.shards = 6;
  job.train.batch = 3;
  job.train.audit.every = 0;
  return job;
}

struct Stepping : DutyContext {
  BatchGathering batches;
  StepTimes times;
  WeightsComparison weights;
  Audits audits{context, batches};
  StepLoop steps{context, batches, times, audits, weights};

  Stepping() : DutyContext(small_job()) {
    context.setup.trainer = make_trainer_state(small_job(), builtin_registry(), "cpu:0", true, false);
    batches.enter(2, 4);
    audits.enter();
  }
  void arrives(Item item) {
    item.cursor = batches.cursor();
    steps.on(MicroBatch{item}, nullptr);
  }
  // The place in the job is an evaluation.
  void stands_at_evaluation() {
    ReplicaPlace place;
    place.cursor.mode = Mode::evaluate;
    position->restore(place);
  }
};

TEST(StepLoop, TheRoundOpensWhenAllShardsHaveArrived) {
  Stepping replica;
  replica.steps.train();
  EXPECT_EQ(replica.sent.shards.size(), 2u);
  replica.arrives(item_with_rows(3, 2));
  replica.arrives(item_with_rows(4, 3));
  EXPECT_TRUE(replica.sent.reducer.empty()) << "4 is another replica's shard";
  replica.arrives(item_with_rows(2, 3));
  const auto* open = last_as<Open>(replica.sent.reducer);
  ASSERT_TRUE(open);
  EXPECT_EQ(open->header.kind, RoundKind::train);
  EXPECT_EQ(open->header.step, 1u);
  ASSERT_EQ(open->header.shards.size(), 2u);
  EXPECT_EQ(open->header.shards[0].rows, 3u);
  EXPECT_EQ(open->header.shards[0].is_short, 0u);
  EXPECT_EQ(open->header.shards[1].is_short, 1u);
  EXPECT_EQ(replica.jobs->size(), 1u);
  EXPECT_EQ(replica.activity(), Activity::computing);
}

TEST(StepLoop, WhatWasComputedIsContributed) {
  Stepping replica;
  replica.steps.train();
  replica.arrives(item_with_rows(2, 3));
  replica.arrives(item_with_rows(3, 3));
  Computed computed;
  computed.nodes.resize(1);
  computed.metrics.resize(2);
  replica.steps.computed(computed);
  const auto* contribution = last_as<Contribute>(replica.sent.reducer);
  ASSERT_TRUE(contribution);
  EXPECT_EQ(contribution->round, 1u);
  EXPECT_EQ(contribution->metrics.size(), 2u);
  EXPECT_TRUE(contribution->keep == replica.context.setup.trainer);
}

TEST(StepLoop, AMemberWithNothingToAddSaysSoAtOnce) {
  Stepping replica;
  replica.steps.train();
  replica.arrives(ended_item(2));
  replica.arrives(ended_item(3));
  ASSERT_EQ(replica.sent.reducer.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<Open>(replica.sent.reducer[0]));
  EXPECT_TRUE(std::holds_alternative<Contribute>(replica.sent.reducer[1]));
  EXPECT_EQ(replica.jobs->size(), 0u);
}

TEST(StepLoop, AShardThatIsLeftOutIsNotAsked) {
  Stepping replica;
  replica.view().dropping = {1, {{2, 3}}};
  replica.steps.train();
  EXPECT_EQ(replica.sent.shards.size(), 1u);
  replica.arrives(item_with_rows(3, 3));
  const auto* open = last_as<Open>(replica.sent.reducer);
  ASSERT_TRUE(open);
  EXPECT_EQ(open->header.shards[0].ended, ShardReport::kLeftOut);
}

TEST(StepLoop, BatchesOfAViewThatIsOverAreIgnored) {
  Stepping replica;
  replica.steps.train();
  replica.context.phase.halt();
  replica.arrives(item_with_rows(2, 3));
  replica.arrives(item_with_rows(3, 3));
  EXPECT_TRUE(replica.sent.reducer.empty());
}

TEST(StepLoop, AnEvaluationGoesOnUntilAllShardsHaveEnded) {
  Stepping replica;
  replica.stands_at_evaluation();
  replica.steps.evaluate();
  const auto* open = last_as<Open>(replica.sent.reducer);
  ASSERT_TRUE(open);
  EXPECT_EQ(open->header.kind, RoundKind::evaluate);
  replica.arrives(item_with_rows(2, 3));
  replica.arrives(ended_item(3));
  EXPECT_EQ(replica.jobs->size(), 1u);
  Computed computed;
  computed.metrics.resize(1);
  replica.steps.computed(computed);
  ASSERT_EQ(replica.sent.shards.size(), 4u);
  EXPECT_EQ(replica.sent.shards[3].cursor.step, 1u);
  replica.arrives(ended_item(2));
  replica.arrives(ended_item(3));
  const auto* contribution = last_as<Contribute>(replica.sent.reducer);
  ASSERT_TRUE(contribution);
  EXPECT_EQ(contribution->metrics.size(), 1u);
}

}  // namespace
}  // namespace muster::step_loop_test
