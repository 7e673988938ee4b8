#include "actors/replica/states/checkpoint_duty.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;
using Follows = CheckpointDuty::Follows;

constexpr Interval kEveryTwoSteps{2, Interval::Unit::steps};

Written refused() {
  Written written;
  written.error = "no space left";
  written.disk = true;
  return written;
}

Job retrying_job(std::chrono::milliseconds give_up, std::chrono::milliseconds grace = 20s) {
  Job job;
  job.cluster.give_up_after = give_up;
  job.checkpoint.grace = grace;
  return job;
}

TEST(CheckpointDuty, OneIsDueWhereTheIntervalEnds) {
  CheckpointDuty duty;
  duty.look({1, 0}, &kEveryTwoSteps, 1);
  EXPECT_FALSE(duty.due_at(1));
  EXPECT_FALSE(duty.take_due(1));
  duty.look({2, 0}, &kEveryTwoSteps, 2);
  EXPECT_TRUE(duty.due_at(2));
  EXPECT_FALSE(duty.due_at(3));
  EXPECT_TRUE(duty.take_due(2));
  EXPECT_FALSE(duty.take_due(2)) << "once";
  EXPECT_TRUE(duty.due_at(2)) << "weights are compared there all the same";
  duty.look({2, 0}, &kEveryTwoSteps, 2);
  EXPECT_FALSE(duty.take_due(2)) << "it still stands there";
}

TEST(CheckpointDuty, WithoutAFolderNoneIsDue) {
  CheckpointDuty duty;
  duty.look({2, 0}, nullptr, 2);
  EXPECT_FALSE(duty.due_at(2));
}

TEST(CheckpointDuty, WhoIsPutSomewhereHasNothingDueThere) {
  CheckpointDuty duty;
  duty.look({2, 0}, &kEveryTwoSteps, 2);
  duty.stand_at({4, 0});
  EXPECT_FALSE(duty.due_at(2));
  duty.look({4, 0}, &kEveryTwoSteps, 4);
  EXPECT_FALSE(duty.due_at(4));
  duty.look({6, 0}, &kEveryTwoSteps, 6);
  EXPECT_TRUE(duty.take_due(6));
}

TEST(CheckpointDuty, OneIsWrittenAtATime) {
  CheckpointDuty duty;
  EXPECT_TRUE(duty.begin());
  EXPECT_FALSE(duty.begin());
  duty.end();
  EXPECT_TRUE(duty.begin());
}

TEST(CheckpointDuty, WhatWasAskedForBeforeAllWentBackIsVoid) {
  CheckpointDuty duty;
  duty.enter(3, false, false, 0s);
  Written written;
  written.view = 3;
  EXPECT_FALSE(duty.is_void(written));
  duty.enter(4, false, true, 0s);
  EXPECT_TRUE(duty.is_void(written));
  written.parting = true;
  EXPECT_FALSE(duty.is_void(written)) << "somebody waits for it";
  written.parting = false;
  written.view = 4;
  EXPECT_FALSE(duty.is_void(written));
}

TEST(CheckpointDuty, WhatIsWrittenOrCannotBeIsFinal) {
  CheckpointDuty duty;
  EXPECT_EQ(duty.judge({}, retrying_job(10s), false, 0s).follows, Follows::is_final);
  Written of_another_kind = refused();
  of_another_kind.disk = false;
  EXPECT_EQ(duty.judge(of_another_kind, retrying_job(10s), false, 0s).follows, Follows::is_final);
  Written in_spare_folder = refused();
  in_spare_folder.folder = "/tmp";
  EXPECT_EQ(duty.judge(in_spare_folder, retrying_job(10s), false, 0s).follows, Follows::is_final);
}

TEST(CheckpointDuty, WhatTheDiskRefusesIsTriedUntilTheTimeIsOver) {
  CheckpointDuty duty;
  auto verdict = duty.judge(refused(), retrying_job(1s), false, 5s);
  ASSERT_EQ(verdict.follows, Follows::again);
  EXPECT_EQ(verdict.wait, 100ms);
  EXPECT_EQ(verdict.written.tries, 1u);
  EXPECT_EQ(verdict.written.tried_since, 5s);
  verdict = duty.judge(verdict.written, retrying_job(1s), false, 5100ms);
  ASSERT_EQ(verdict.follows, Follows::again);
  EXPECT_EQ(verdict.wait, 200ms);
  EXPECT_EQ(duty.judge(verdict.written, retrying_job(1s), false, 6s).follows, Follows::is_final);
}

TEST(CheckpointDuty, TheOneOfTheEndGoesElsewhereAtLast) {
  CheckpointDuty duty;
  Written last = refused();
  last.last = true;
  last.tries = 3;
  EXPECT_EQ(duty.judge(last, retrying_job(1s), false, 2s).follows, Follows::elsewhere);
  Written parting = refused();
  parting.parting = true;
  parting.tries = 3;
  EXPECT_EQ(duty.judge(parting, retrying_job(1h, 4s), false, 1s).follows, Follows::again);
  EXPECT_EQ(duty.judge(parting, retrying_job(1h, 4s), false, 2s).follows, Follows::elsewhere)
      << "half of the grace is left for the other folder";
}

TEST(CheckpointDuty, TheTimeOfTheLastViewCountsFromItsBeginning) {
  CheckpointDuty duty;
  duty.enter(1, true, false, 10s);
  duty.enter(2, true, false, 13s);  // begun again
  Written parting = refused();
  parting.parting = true;
  EXPECT_EQ(duty.judge(parting, retrying_job(1h, 8s), true, 13s).follows, Follows::again);
  EXPECT_EQ(duty.judge(parting, retrying_job(1h, 8s), true, 14s).follows, Follows::elsewhere);
  duty.enter(3, false, false, 14s);
  duty.enter(4, true, false, 20s);
  EXPECT_EQ(duty.judge(parting, retrying_job(1h, 8s), true, 21s).follows, Follows::again);
}

// Else a large state would not be there in time, and its healthy writer would be lost for it.
TEST(CheckpointDuty, TheSpareFolderHasATimeOfItsOwn) {
  CheckpointDuty duty;
  duty.enter(1, true, false, 10s);
  Written parting = refused();
  parting.parting = true;
  parting.tries = 3;
  parting.tried_since = 10s;
  EXPECT_EQ(duty.answers_within(parting, retrying_job(1h, 8s), true, 13s), 1s);
  duty.goes_elsewhere(parting);
  EXPECT_EQ(duty.answers_within(parting, retrying_job(1h, 8s), true, 14s), 4s) << "the other half";
  Written last = refused();
  last.last = true;
  last.tries = 3;
  duty.goes_elsewhere(last);
  EXPECT_EQ(duty.answers_within(last, retrying_job(6s), true, 100s), 6s);
  duty.begin_write(last);
  EXPECT_EQ(duty.answers_within(last, retrying_job(6s), true, 3s), 3s) << "the folder is tried again";
}

// A coordinator that was told to end died; its successor knows nothing of that, and the job goes on to its
// end while the disk still refuses the checkpoint that the first one asked for.
TEST(CheckpointDuty, ThatOfTheJobsEndIsOwedWhileAnotherIsTriedAgain) {
  CheckpointDuty duty;
  Written parting, last;
  parting.parting = last.last = true;
  parting.number = duty.begin_write(parting);
  last.number = duty.begin_write(last);
  parting.number = duty.begin_write(parting);  // refused, and begun again
  EXPECT_TRUE(duty.takes(last));
  EXPECT_TRUE(duty.takes(parting));
  duty.goes_elsewhere(parting);
  EXPECT_FALSE(duty.is_elsewhere(last));
  duty.answered(parting);
  EXPECT_FALSE(duty.takes(parting));
  EXPECT_TRUE(duty.takes(last));
}

TEST(CheckpointDuty, WhatWasToldLastIsToldAgain) {
  CheckpointDuty duty;
  EXPECT_TRUE(duty.told_last().empty());
  duty.told({"a", 5, 5});
  duty.told({"b", 7, 7});
  Checkpointed spared{"c", 9, 9};
  spared.folder = "/tmp";
  duty.told(spared);
  ASSERT_EQ(duty.told_last().size(), 2u);
  EXPECT_EQ(duty.told_last()[0].manifest, "b");
  EXPECT_EQ(duty.told_last()[1].manifest, "c");
  duty.go_back(8);
  ASSERT_EQ(duty.told_last().size(), 1u);
  EXPECT_EQ(duty.told_last()[0].manifest, "b");
}

}  // namespace
}  // namespace muster
