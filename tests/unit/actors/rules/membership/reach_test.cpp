#include "actors/rules/membership/reach.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using std::chrono::milliseconds;

constexpr NodeName kNew{false, 2}, kOne{false, 0}, kOther{false, 1};

const auto all_live = [](const NodeName&) { return true; };

TEST(ReachWatch, IsOverWhenAllHaveSaidThatNothingIsWrong) {
  ReachWatch watch;
  watch.ask(kNew, {kNew, kOne});
  EXPECT_TRUE(watch.over(all_live, all_live, milliseconds(0)).empty());
  EXPECT_TRUE(watch.owes(kOne, kNew));
  EXPECT_FALSE(watch.owes(kOther, kNew));
  watch.told(kOne, kNew);
  EXPECT_FALSE(watch.owes(kOne, kNew));
  EXPECT_TRUE(watch.over(all_live, all_live, milliseconds(0)).empty());
  watch.told(kNew, kNew);
  EXPECT_EQ(watch.over(all_live, all_live, milliseconds(0)), std::vector{kNew});
  EXPECT_TRUE(watch.over(all_live, all_live, milliseconds(0)).empty()) << "it is named once";
}

TEST(ReachWatch, WaitsForNobodyWhoIsGone) {
  ReachWatch watch;
  watch.ask(kNew, {kNew, kOne, kOther});
  watch.told(kNew, kNew);
  watch.told(kOne, kNew);
  EXPECT_EQ(watch.over([](const NodeName& who) { return who != kOther; }, all_live, milliseconds(0)),
            std::vector{kNew});
}

TEST(ReachWatch, ForgetsOneThatIsGoneItself) {
  ReachWatch watch;
  watch.ask(kNew, {kNew, kOne});
  EXPECT_TRUE(watch.over([](const NodeName& who) { return who != kNew; }, all_live, milliseconds(0)).empty());
  EXPECT_FALSE(watch.owes(kOne, kNew));
}

TEST(ReachWatch, WhoIsToBeAskedAgainIsNamedOnceAndNotOver) {
  ReachWatch watch;
  watch.ask(kNew, {kNew, kOne});
  watch.again(kNew);
  EXPECT_TRUE(watch.over(all_live, all_live, kReachPatience).empty());
  EXPECT_FALSE(watch.owes(kOne, kNew)) << "a late report on what was asked before";
  EXPECT_EQ(watch.take_again(), std::set{kNew});
  EXPECT_TRUE(watch.take_again().empty());
}

TEST(ReachWatch, WaitsForASilentOneOnlySoLong) {
  ReachWatch watch;
  watch.ask(kNew, {kNew, kOne});
  watch.told(kNew, kNew);
  EXPECT_TRUE(watch.over(all_live, all_live, kReachPatience - milliseconds(1)).empty());
  EXPECT_EQ(watch.over(all_live, all_live, milliseconds(1)), std::vector{kNew});
}

TEST(ReachWatch, TheTimeInWhichAnOwerIsNotHeardDoesNotCount) {
  const auto one_is_silent = [](const NodeName& who) { return who != kOne; };
  ReachWatch watch;
  watch.ask(kNew, {kNew, kOne});
  watch.told(kNew, kNew);
  EXPECT_TRUE(watch.over(all_live, one_is_silent, 2 * kReachPatience).empty());
  EXPECT_TRUE(watch.owes(kOne, kNew));
  EXPECT_EQ(watch.over(all_live, all_live, kReachPatience), std::vector{kNew});
}

TEST(ReachWatch, WhatCannotBeHeardIsWaitedForOnlySoLong) {
  const auto none = [](const NodeName&) { return false; };
  ReachWatch watch;
  watch.ask(kNew, {kNew, kOne});
  EXPECT_TRUE(watch.over(all_live, none, kReachMax - milliseconds(1)).empty());
  EXPECT_EQ(watch.over(all_live, none, milliseconds(1)), std::vector{kNew});
}

TEST(ReachWatch, WhoComesBackOverAnotherConnectionIsAskedAgain) {
  ReachWatch watch;
  watch.ask(kNew, {kNew, kOne});
  watch.told(kNew, kNew);
  watch.came_back(kNew);
  EXPECT_TRUE(watch.take_again().empty()) << "it has said what it owed";
  watch.came_back(kOne);
  EXPECT_EQ(watch.take_again(), std::set{kNew});
  EXPECT_TRUE(watch.over(all_live, all_live, kReachMax).empty());
}

TEST(ReachWatch, KnowsWhomItDoesNotReachUntilItIsAskedAgain) {
  ReachWatch watch;
  watch.ask(kNew, {kNew, kOne, kOther});
  watch.failed(kNew, kOne);
  EXPECT_TRUE(watch.has_failed(kNew, kOne));
  EXPECT_FALSE(watch.has_failed(kNew, kOther));
  watch.ask(kNew, {kNew});
  EXPECT_FALSE(watch.has_failed(kNew, kOne));
}

}  // namespace
}  // namespace muster
