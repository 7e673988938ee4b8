#include "transport/collective/tree_sum/gradient_backup.hpp"

#include <gtest/gtest.h>

#include "tests/unit/transport/collective/reduction/reduction_shapes.hpp"

namespace {

using namespace muster;
using muster::testing::small_view;

// Three members with a piece each: member 0, which looks, is backed up by member 1, and backs up member 2.
ReductionShape sharded_view() {
  ReductionShape shape = small_view(3, 1, 0);
  shape.elements = 48;
  shape.sharded = true;
  for (std::uint32_t m = 0; m < 3; ++m) shape.members[m].buddy = (m + 1) % 3;
  return shape;
}

class GradientBackupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(plan_.pieces().size(), 3u);
    for (std::uint32_t i = 0; i < 3; ++i) ASSERT_EQ(plan_.pieces()[i].owner, i);
  }
  static Frame answer(std::uint32_t from, std::uint64_t first, std::uint64_t count) {
    Frame frame = frame_with(KeptElementsBody{first, count});
    frame.from = from;
    return frame;
  }

  SumPlan plan_{sharded_view()};
  GradientBackup backup_{plan_};
};

TEST_F(GradientBackupTest, AnOwnerWaitsForTheAnswerOfItsBuddy) {
  EXPECT_EQ(backup_.buddy(), 1u);
  EXPECT_FALSE(backup_.awaits_answer_of(1));
  EXPECT_TRUE(backup_.give(0));
  EXPECT_TRUE(backup_.awaits_answer_of(1));
  EXPECT_FALSE(backup_.awaits_answer_of(2));
  EXPECT_EQ(backup_.answered(answer(1, 0, 16)), std::optional<std::size_t>(0));
  backup_.holds_one_more();
  EXPECT_FALSE(backup_.awaits_answer_of(1));
}

TEST_F(GradientBackupTest, OnlyTheBuddyAnswersAndOnlyForWhatItWasGiven) {
  EXPECT_FALSE(backup_.answered(answer(1, 0, 16))) << "it was given nothing";
  backup_.give(0);
  EXPECT_FALSE(backup_.answered(answer(2, 0, 16))) << "another member";
  EXPECT_FALSE(backup_.answered(answer(1, 16, 16))) << "a piece of another owner";
  EXPECT_FALSE(backup_.answered(answer(1, 0, 8))) << "half a piece";
  EXPECT_FALSE(backup_.answered(answer(1, 0, 32))) << "two pieces";
  EXPECT_TRUE(backup_.answered(answer(1, 0, 16)));
}

TEST_F(GradientBackupTest, ABuddyKeepsEachPieceOfItsOwnerOnce) {
  EXPECT_TRUE(backup_.awaits({2, 3}, 2));
  EXPECT_FALSE(backup_.awaits({1, 2}, 1)) << "member 2 backs member 1 up";
  EXPECT_FALSE(backup_.awaits({1, 2}, 2)) << "not the sender's own piece";
  EXPECT_FALSE(backup_.awaits({1, 3}, 2)) << "two pieces";
  EXPECT_TRUE(backup_.keep(2));
  EXPECT_FALSE(backup_.keep(2));
  EXPECT_FALSE(backup_.awaits({2, 3}, 2));
  EXPECT_FALSE(backup_.awaits_answer_of(1)) << "a piece that is kept for another one is not given";
}

TEST_F(GradientBackupTest, AResetForgetsTheRound) {
  backup_.give(0);
  backup_.keep(2);
  backup_.reset();
  EXPECT_FALSE(backup_.awaits_answer_of(1));
  EXPECT_FALSE(backup_.answered(answer(1, 0, 16)));
  EXPECT_TRUE(backup_.awaits({2, 3}, 2));
}

TEST(GradientBackup, AMemberAloneGivesNothing) {
  ReductionShape shape = sharded_view();
  shape.members[0].buddy = 0;
  const SumPlan plan(shape);
  GradientBackup backup(plan);
  EXPECT_FALSE(backup.give(0));
  EXPECT_FALSE(backup.awaits_answer_of(0));
}

TEST(GradientBackup, NothingIsAwaitedWhereTheOptimizerIsNotSharded) {
  ReductionShape shape = sharded_view();
  shape.sharded = false;
  const SumPlan plan(shape);
  const GradientBackup backup(plan);
  EXPECT_FALSE(backup.awaits({2, 3}, 2));
  Frame frame = frame_with(KeptElementsBody{0, 16});
  frame.from = 1;
  EXPECT_FALSE(backup.answered(frame));
}

}  // namespace
