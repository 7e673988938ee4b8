#include <gtest/gtest.h>

#include <sstream>

#include "actors/rules/steps/round_schedule.hpp"

namespace muster {
namespace {

// Follows a job whose epoch e has lengths[e - 1] steps (the last length for all later ones): "t1.0" is step 0
// of epoch 1, "-" its end, "e1" its evaluation, "." the end of the job.
std::string path(const RoundScheduleOptions& options, std::vector<std::uint64_t> lengths,
                 std::size_t moves_max = 100) {
  RoundSchedule schedule(options);
  std::ostringstream text;
  for (std::size_t moves = 0; moves < moves_max && !schedule.finished(); ++moves) {
    const Cursor cursor = schedule.cursor();
    if (cursor.mode == Mode::evaluate) {
      text << "e" << cursor.epoch << " ";
      schedule.evaluated();
      continue;
    }
    const std::uint64_t length = lengths[std::min<std::size_t>(cursor.epoch - 1, lengths.size() - 1)];
    RoundSchedule::Move move;
    if (cursor.step < length) {
      text << "t" << cursor.epoch << "." << cursor.step << " ";
      move = schedule.step_committed();
      EXPECT_FALSE(move.data_ended);
    } else {
      move = schedule.all_ended();
      EXPECT_TRUE(move.epoch_ended && move.data_ended);
    }
    if (move.epoch_ended) text << "- ";
  }
  if (schedule.finished()) text << "." << schedule.steps() << (schedule.ran_out() ? " ran out" : "");
  return text.str();
}

TEST(RoundSchedule, EpochsWithEvaluation) {
  EXPECT_EQ(path({{}, 2, true}, {2}), "t1.0 t1.1 - e1 t2.0 t2.1 - e2 .4");
}

TEST(RoundSchedule, EpochsWithoutEvaluation) {
  EXPECT_EQ(path({{}, 3, false}, {1}), "t1.0 - t2.0 - t3.0 - .3");
}

TEST(RoundSchedule, EpochsOfUnequalLength) {
  EXPECT_EQ(path({{}, 2, false}, {1, 3}), "t1.0 - t2.0 t2.1 t2.2 - .4");
}

TEST(RoundSchedule, StepsCutAnEpochShortAndItIsEvaluated) {
  EXPECT_EQ(path({3, 5, true}, {2}), "t1.0 t1.1 - e1 t2.0 - e2 .3");
}

TEST(RoundSchedule, StepsThatEndWithTheEpoch) {
  EXPECT_EQ(path({2, 1, true}, {2}), "t1.0 t1.1 - e1 .2");
  EXPECT_EQ(path({4, 2, false}, {2}), "t1.0 t1.1 - t2.0 t2.1 - .4");
}

TEST(RoundSchedule, PassesThatEndBeforeTheSteps) {
  EXPECT_EQ(path({10, 2, true}, {2}), "t1.0 t1.1 - e1 t2.0 t2.1 - e2 .4 ran out");
  EXPECT_EQ(path({10, 1, false}, {2}), "t1.0 t1.1 - .2 ran out");
}

TEST(RoundSchedule, RepeatForever) {
  EXPECT_EQ(path({5, 0, false}, {2}), "t1.0 t1.1 - t2.0 t2.1 - t3.0 - .5");
  RoundScheduleOptions endless{{}, 0, false};
  EXPECT_EQ(path(endless, {1}, 4), "t1.0 - t2.0 - ");
}

TEST(RoundSchedule, EpochWithoutASingleStepEndsTheJob) {
  EXPECT_EQ(path({{}, 3, true}, {0}), "- .0");
  EXPECT_EQ(path({7, 0, true}, {2, 0}), "t1.0 t1.1 - e1 - .2 ran out");
}

TEST(RoundSchedule, WeightlessRoundTakesNoStepNumber) {
  RoundSchedule schedule({2, 1, false});
  schedule.weightless();
  EXPECT_EQ(schedule.steps(), 0u);
  EXPECT_EQ(schedule.cursor(), (Cursor{Mode::train, 1, 1}));
  EXPECT_FALSE(schedule.step_committed().epoch_ended);
  schedule.weightless();
  EXPECT_TRUE(schedule.step_committed().epoch_ended);
  EXPECT_TRUE(schedule.finished());
  EXPECT_EQ(schedule.steps(), 2u);
}

// ---- what steps went on without comes back at the end of the epoch

TEST(RoundSchedule, WhatIsOwedIsPaidBeforeTheEpochEnds) {
  RoundSchedule schedule({{}, 1, true});
  schedule.step_committed();
  schedule.defer({2, 3});
  schedule.step_committed();
  schedule.step_committed();
  schedule.defer({3});
  schedule.step_committed();
  EXPECT_FALSE(schedule.all_ended().epoch_ended);
  ASSERT_TRUE(schedule.replaying());
  EXPECT_EQ(schedule.cursor(), (Cursor{Mode::train, 1, 1}));
  EXPECT_EQ(schedule.place(), (Cursor{Mode::train, 1, 4}));
  EXPECT_TRUE(schedule.takes_part(2) && schedule.takes_part(3));
  EXPECT_FALSE(schedule.takes_part(0));
  EXPECT_FALSE(schedule.step_committed().epoch_ended);
  EXPECT_EQ(schedule.cursor(), (Cursor{Mode::train, 1, 3}));
  EXPECT_FALSE(schedule.takes_part(2));
  const auto move = schedule.step_committed();
  EXPECT_TRUE(move.epoch_ended && move.data_ended);
  EXPECT_FALSE(schedule.replaying());
  EXPECT_EQ(schedule.steps(), 6u);
  EXPECT_EQ(schedule.cursor(), (Cursor{Mode::evaluate, 1, 0}));
}

TEST(RoundSchedule, DeferredBatchesOfNothingAreReplayedWithoutAStep) {
  RoundSchedule schedule({{}, 2, false});
  schedule.defer({1});
  schedule.step_committed();
  schedule.defer({1});
  EXPECT_FALSE(schedule.weightless().epoch_ended) << "all others had ended";
  EXPECT_FALSE(schedule.all_ended().epoch_ended);
  EXPECT_FALSE(schedule.weightless().epoch_ended);
  EXPECT_TRUE(schedule.all_ended().epoch_ended);
  EXPECT_EQ(schedule.steps(), 1u);
  EXPECT_EQ(schedule.cursor(), (Cursor{Mode::train, 2, 0}));
}

TEST(RoundSchedule, WaitsForTheOnlyShardsThatHaveNotEndedAndGoesOnBehindThem) {
  RoundSchedule schedule({{}, 1, true});
  schedule.step_committed();
  schedule.defer({2});  // all others have ended
  EXPECT_FALSE(schedule.all_ended().epoch_ended);
  ASSERT_TRUE(schedule.replaying());
  EXPECT_EQ(schedule.cursor(), (Cursor{Mode::train, 1, 1}));
  EXPECT_FALSE(schedule.step_committed().epoch_ended) << "the shard may have more";
  EXPECT_FALSE(schedule.replaying());
  EXPECT_EQ(schedule.cursor(), (Cursor{Mode::train, 1, 2}));
  EXPECT_TRUE(schedule.takes_part(0) && schedule.takes_part(2));
  EXPECT_TRUE(schedule.all_ended().epoch_ended);
}

TEST(RoundSchedule, StepsThatEndTheJobDropItsDeferredBatches) {
  RoundSchedule schedule({2, 1, false});
  schedule.defer({0});
  schedule.step_committed();
  EXPECT_FALSE(schedule.all_ended().epoch_ended);
  const auto move = schedule.step_committed();
  EXPECT_TRUE(move.epoch_ended && schedule.finished());
  EXPECT_FALSE(schedule.replaying());
}

TEST(RoundSchedule, DeferredBatchesAreRestored) {
  RoundSchedule schedule({{}, 1, false});
  schedule.defer({0});
  schedule.step_committed();
  schedule.all_ended();
  RoundSchedule other({{}, 1, false});
  other.restore(schedule.place(), schedule.steps(), schedule.finished(), schedule.deferred());
  EXPECT_EQ(other.cursor(), schedule.cursor());
  EXPECT_TRUE(other.step_committed().epoch_ended);
}

TEST(RoundSchedule, OptionsComeFromTheJob) {
  Job job;
  EXPECT_EQ(round_schedule_options(job, true).passes, 1u);
  EXPECT_TRUE(round_schedule_options(job, true).evaluate);
  EXPECT_FALSE(round_schedule_options(job, false).evaluate);
  job.train.evaluate = false;
  EXPECT_FALSE(round_schedule_options(job, true).evaluate);
  job.train.epochs = 4;
  EXPECT_EQ(round_schedule_options(job, false).passes, 4u);
  job.train.epochs.reset();
  job.train.steps = 9;
  EXPECT_EQ(round_schedule_options(job, false).passes, 1u);
  job.data.repeat = 0;
  EXPECT_EQ(round_schedule_options(job, false).passes, 0u);
  EXPECT_EQ(round_schedule_options(job, false).steps, 9u);
}

TEST(RoundSchedule, NoEpochIsForeseenAfterTheLast) {
  EXPECT_TRUE(RoundSchedule::has_epoch_after({{}, 2, false}, 1));
  EXPECT_FALSE(RoundSchedule::has_epoch_after({{}, 2, false}, 2));
  EXPECT_TRUE(RoundSchedule::has_epoch_after({{}, 0, false}, 1'000'000));
}

}  // namespace
}  // namespace muster
