#include <gtest/gtest.h>

#include <sstream>

#include "actors/rules/steps/course.hpp"

namespace muster {
namespace {

// Follows a job whose epoch e has lengths[e - 1] steps (the last length for all later ones): "t1.0" is step 0
// of epoch 1, "-" its end, "e1" its evaluation, "." the end of the job.
std::string path(const CourseOptions& options, std::vector<std::uint64_t> lengths,
                 std::size_t moves_max = 100) {
  Course course(options);
  std::ostringstream text;
  for (std::size_t moves = 0; moves < moves_max && !course.finished(); ++moves) {
    const Cursor cursor = course.cursor();
    if (cursor.phase == Phase::evaluate) {
      text << "e" << cursor.epoch << " ";
      course.evaluated();
      continue;
    }
    const std::uint64_t length = lengths[std::min<std::size_t>(cursor.epoch - 1, lengths.size() - 1)];
    Course::Move move;
    if (cursor.step < length) {
      text << "t" << cursor.epoch << "." << cursor.step << " ";
      move = course.step_committed();
      EXPECT_FALSE(move.data_ended);
    } else {
      move = course.all_ended();
      EXPECT_TRUE(move.epoch_ended && move.data_ended);
    }
    if (move.epoch_ended) text << "- ";
  }
  if (course.finished()) text << "." << course.steps() << (course.ran_out() ? " ran out" : "");
  return text.str();
}

TEST(Course, EpochsWithEvaluation) {
  EXPECT_EQ(path({{}, 2, true}, {2}), "t1.0 t1.1 - e1 t2.0 t2.1 - e2 .4");
}

TEST(Course, EpochsWithoutEvaluation) {
  EXPECT_EQ(path({{}, 3, false}, {1}), "t1.0 - t2.0 - t3.0 - .3");
}

TEST(Course, EpochsOfUnequalLength) {
  EXPECT_EQ(path({{}, 2, false}, {1, 3}), "t1.0 - t2.0 t2.1 t2.2 - .4");
}

TEST(Course, StepsCutAnEpochShortAndItIsEvaluated) {
  EXPECT_EQ(path({3, 5, true}, {2}), "t1.0 t1.1 - e1 t2.0 - e2 .3");
}

TEST(Course, StepsThatEndWithTheEpoch) {
  EXPECT_EQ(path({2, 1, true}, {2}), "t1.0 t1.1 - e1 .2");
  EXPECT_EQ(path({4, 2, false}, {2}), "t1.0 t1.1 - t2.0 t2.1 - .4");
}

TEST(Course, PassesThatEndBeforeTheSteps) {
  EXPECT_EQ(path({10, 2, true}, {2}), "t1.0 t1.1 - e1 t2.0 t2.1 - e2 .4 ran out");
  EXPECT_EQ(path({10, 1, false}, {2}), "t1.0 t1.1 - .2 ran out");
}

TEST(Course, RepeatForever) {
  EXPECT_EQ(path({5, 0, false}, {2}), "t1.0 t1.1 - t2.0 t2.1 - t3.0 - .5");
  CourseOptions endless{{}, 0, false};
  EXPECT_EQ(path(endless, {1}, 4), "t1.0 - t2.0 - ");
}

TEST(Course, EpochWithoutASingleStepEndsTheJob) {
  EXPECT_EQ(path({{}, 3, true}, {0}), "- .0");
  EXPECT_EQ(path({7, 0, true}, {2, 0}), "t1.0 t1.1 - e1 - .2 ran out");
}

TEST(Course, WeightlessRoundTakesNoStepNumber) {
  Course course({2, 1, false});
  course.weightless();
  EXPECT_EQ(course.steps(), 0u);
  EXPECT_EQ(course.cursor(), (Cursor{Phase::train, 1, 1}));
  EXPECT_FALSE(course.step_committed().epoch_ended);
  course.weightless();
  EXPECT_TRUE(course.step_committed().epoch_ended);
  EXPECT_TRUE(course.finished());
  EXPECT_EQ(course.steps(), 2u);
}

// ---- what steps went on without comes back at the end of the epoch

TEST(Course, WhatIsOwedIsPaidBeforeTheEpochEnds) {
  Course course({{}, 1, true});
  course.step_committed();
  course.owe({2, 3});
  course.step_committed();
  course.step_committed();
  course.owe({3});
  course.step_committed();
  EXPECT_FALSE(course.all_ended().epoch_ended);
  ASSERT_TRUE(course.paying());
  EXPECT_EQ(course.cursor(), (Cursor{Phase::train, 1, 1}));
  EXPECT_EQ(course.place(), (Cursor{Phase::train, 1, 4}));
  EXPECT_TRUE(course.takes_part(2) && course.takes_part(3));
  EXPECT_FALSE(course.takes_part(0));
  EXPECT_FALSE(course.step_committed().epoch_ended);
  EXPECT_EQ(course.cursor(), (Cursor{Phase::train, 1, 3}));
  EXPECT_FALSE(course.takes_part(2));
  const auto move = course.step_committed();
  EXPECT_TRUE(move.epoch_ended && move.data_ended);
  EXPECT_FALSE(course.paying());
  EXPECT_EQ(course.steps(), 6u);
  EXPECT_EQ(course.cursor(), (Cursor{Phase::evaluate, 1, 0}));
}

TEST(Course, ADebtOfNothingIsPaidWithoutAStep) {
  Course course({{}, 2, false});
  course.owe({1});
  course.step_committed();
  course.owe({1});
  EXPECT_FALSE(course.weightless().epoch_ended) << "all others had ended";
  EXPECT_FALSE(course.all_ended().epoch_ended);
  EXPECT_FALSE(course.weightless().epoch_ended);
  EXPECT_TRUE(course.all_ended().epoch_ended);
  EXPECT_EQ(course.steps(), 1u);
  EXPECT_EQ(course.cursor(), (Cursor{Phase::train, 2, 0}));
}

TEST(Course, WaitsForTheOnlyShardsThatHaveNotEndedAndGoesOnBehindThem) {
  Course course({{}, 1, true});
  course.step_committed();
  course.owe({2});  // all others have ended
  EXPECT_FALSE(course.all_ended().epoch_ended);
  ASSERT_TRUE(course.paying());
  EXPECT_EQ(course.cursor(), (Cursor{Phase::train, 1, 1}));
  EXPECT_FALSE(course.step_committed().epoch_ended) << "the shard may have more";
  EXPECT_FALSE(course.paying());
  EXPECT_EQ(course.cursor(), (Cursor{Phase::train, 1, 2}));
  EXPECT_TRUE(course.takes_part(0) && course.takes_part(2));
  EXPECT_TRUE(course.all_ended().epoch_ended);
}

TEST(Course, StepsThatEndTheJobEndItsDebts) {
  Course course({2, 1, false});
  course.owe({0});
  course.step_committed();
  EXPECT_FALSE(course.all_ended().epoch_ended);
  const auto move = course.step_committed();
  EXPECT_TRUE(move.epoch_ended && course.finished());
  EXPECT_FALSE(course.paying());
}

TEST(Course, DebtsAreRestored) {
  Course course({{}, 1, false});
  course.owe({0});
  course.step_committed();
  course.all_ended();
  Course other({{}, 1, false});
  other.restore(course.place(), course.steps(), course.finished(), course.debt());
  EXPECT_EQ(other.cursor(), course.cursor());
  EXPECT_TRUE(other.step_committed().epoch_ended);
}

TEST(Course, OptionsComeFromTheJob) {
  Job job;
  EXPECT_EQ(course_options(job, true).passes, 1u);
  EXPECT_TRUE(course_options(job, true).evaluate);
  EXPECT_FALSE(course_options(job, false).evaluate);
  job.train.evaluate = false;
  EXPECT_FALSE(course_options(job, true).evaluate);
  job.train.epochs = 4;
  EXPECT_EQ(course_options(job, false).passes, 4u);
  job.train.epochs.reset();
  job.train.steps = 9;
  EXPECT_EQ(course_options(job, false).passes, 1u);
  job.data.repeat = 0;
  EXPECT_EQ(course_options(job, false).passes, 0u);
  EXPECT_EQ(course_options(job, false).steps, 9u);
}

TEST(Course, NoEpochIsForeseenAfterTheLast) {
  EXPECT_TRUE(Course::has_epoch_after({{}, 2, false}, 1));
  EXPECT_FALSE(Course::has_epoch_after({{}, 2, false}, 2));
  EXPECT_TRUE(Course::has_epoch_after({{}, 0, false}, 1'000'000));
}

}  // namespace
}  // namespace muster
