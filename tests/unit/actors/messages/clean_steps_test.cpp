// Which steps may hold wrong gradients of a replica.
#include "actors/messages/clean_steps.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(CleanSteps, StepsAfterTheLastCleanAuditMayBeWrong) {
  EXPECT_EQ(first_unclean(7, 12), 8u);
  EXPECT_EQ(first_unclean(0, 12), 1u);
}

TEST(CleanSteps, NoStepIsWrongWhereTheStepBeforeWasAudited) {
  EXPECT_EQ(first_unclean(11, 12), 12u);
  EXPECT_EQ(first_unclean(kCleanUntilView, 12), 12u);  // its first step
}

TEST(CleanSteps, OfTwoMembersTheOneThatKnowsMoreCounts) {
  EXPECT_EQ(later_clean(5, 9), 9u);
  EXPECT_EQ(later_clean(kCleanUntilView, 9), 9u);
  EXPECT_EQ(later_clean(9, kCleanUntilView), 9u);
  EXPECT_EQ(later_clean(kCleanUntilView, kCleanUntilView), kCleanUntilView);
}

TEST(CleanSteps, WeightsAreSuspectForTheStepsInWhichAllOfThemAreCompared) {
  EXPECT_EQ(first_wrong_weights(100, 64, 0), 37u);
  EXPECT_EQ(first_wrong_weights(12, 1, 0), 12u);
  EXPECT_EQ(first_wrong_weights(12, 64, 0), 1u);
}

TEST(CleanSteps, WeightsOfWhoWasAloneAreSuspectSinceThen) {
  EXPECT_EQ(first_wrong_weights(100, 64, 5), 5u);
  EXPECT_EQ(first_wrong_weights(100, 64, 99), 37u);
  EXPECT_EQ(alone_after_going_back(5, 4), 0u) << "it is done again";
  EXPECT_EQ(alone_after_going_back(5, 5), 5u);
  EXPECT_EQ(alone_after_going_back(0, 5), 0u);
}

TEST(CleanSteps, WhatIsDoneAgainWasNotCompared) {
  EXPECT_EQ(clean_after_going_back(9, 4), 4u);
  EXPECT_EQ(clean_after_going_back(3, 4), 3u);
  EXPECT_EQ(clean_after_going_back(kCleanUntilView, 4), kCleanUntilView);
}

}  // namespace
}  // namespace muster
