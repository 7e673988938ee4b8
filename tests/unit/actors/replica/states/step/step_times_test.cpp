#include "actors/replica/states/step/step_times.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

RoundRecord record_with(std::chrono::nanoseconds hidden = {}) {
  RoundRecord record;
  record.hidden = hidden;
  return record;
}

TEST(StepTimes, EachPhaseHasTheTimeSinceTheOneBefore) {
  StepTimes times;
  times.begin(10s);
  times.pass(11s);
  times.gathered(13s);
  times.computed(16s, false);
  times.recorded(record_with(500ms), 20s, false);
  times.updated(25s, false);
  const PhaseTimes phases = times.phases();
  EXPECT_DOUBLE_EQ(phases.wait_for_batch_s, 2);
  EXPECT_DOUBLE_EQ(phases.compute_s, 3);
  EXPECT_DOUBLE_EQ(phases.reduce_s, 4);
  EXPECT_DOUBLE_EQ(phases.reduce_hidden_s, 0.5);
  EXPECT_DOUBLE_EQ(phases.update_s, 5);
  EXPECT_DOUBLE_EQ(times.step_seconds(), 5) << "loading and computing";
}

TEST(StepTimes, TheFirstTimeCountsNothing) {
  StepTimes times;
  times.gathered(100s);
  EXPECT_DOUBLE_EQ(times.phases().wait_for_batch_s, 0);
}

TEST(StepTimes, OneThatIsGivenARecordHasReducedNothing) {
  StepTimes times;
  times.begin(1s);
  times.recorded(record_with(), 5s, true);
  EXPECT_DOUBLE_EQ(times.phases().reduce_s, 0);
  times.recorded(record_with(), 6s, false);
  EXPECT_DOUBLE_EQ(times.phases().reduce_s, 1) << "what came before is gone";
}

TEST(StepTimes, TheSecondSumAddsToTheStep) {
  StepTimes times;
  times.begin(0s);
  times.gathered(1s);
  times.computed(3s, false);
  times.reduced(record_with(), 4s);
  times.computed(7s, true);
  EXPECT_DOUBLE_EQ(times.step_seconds(), 1 + 2 + 3);
  EXPECT_DOUBLE_EQ(times.phases().compute_s, 5);
  EXPECT_DOUBLE_EQ(times.phases().reduce_s, 1);
  times.computed(8s, false);
  EXPECT_DOUBLE_EQ(times.step_seconds(), 1 + 1) << "another step";
}

TEST(StepTimes, EvaluationIsNoTraining) {
  StepTimes times;
  times.begin(0s);
  times.evaluated(3s);
  EXPECT_DOUBLE_EQ(times.phases().evaluate_s, 3);
  EXPECT_DOUBLE_EQ(times.phases().compute_s, 0);
}

TEST(StepTimes, AStepIsStarvedThatWaitsForLongerThanItComputes) {
  StepTimes times;
  times.begin(0s);
  times.gathered(4ms);
  times.computed(5ms, false);
  EXPECT_FALSE(times.starved()) << "threads need so long to wake up";
  times.gathered(25ms);
  times.computed(35ms, false);
  const auto starved = times.starved();
  ASSERT_TRUE(starved);
  EXPECT_NEAR(starved->waited_s, 0.020, 1e-9);
  EXPECT_NEAR(starved->computed_s, 0.010, 1e-9);
  times.computed(60ms, false);
  EXPECT_FALSE(times.starved());
  times.computes_nothing();
  EXPECT_TRUE(times.starved());
}

TEST(StepTimes, ProgressIsToldEvery200MillisecondsOrWhereItIsAsked) {
  StepTimes times;
  times.begin(10s);
  EXPECT_TRUE(times.updated(10s, false)) << "the first step of a view";
  EXPECT_FALSE(times.updated(10s + 199ms, false));
  EXPECT_TRUE(times.updated(10s + 200ms, false));
  EXPECT_TRUE(times.updated(10s + 201ms, true));
  EXPECT_FALSE(times.updated(10s + 300ms, false)) << "since what was asked for";
  times.begin(10s + 301ms);
  EXPECT_TRUE(times.updated(10s + 302ms, false)) << "another view";
}

TEST(StepTimes, TellsForWhomItWaited) {
  StepTimes times;
  times.begin(1s);
  times.computed(3s, false);  // and hands in its part
  RoundRecord record;
  record.last_report_of = 2;
  record.last_report_at = 7s;
  times.recorded(record, 9s, false);
  const PhaseTimes phases = times.phases();
  EXPECT_DOUBLE_EQ(phases.wait_for_peers_s, 4) << "from its own part to the last report";
  EXPECT_EQ(phases.waited_most_for, 2);
}

TEST(StepTimes, TrafficAddsUp) {
  StepTimes times;
  RoundRecord record;
  record.sent.between_hosts.frames = 5;
  times.recorded(record, 1s, false);
  times.reduced(record, 2s);
  EXPECT_EQ(times.traffic().between_hosts.frames, 10u);
}

}  // namespace
}  // namespace muster
