#include "actors/coordinator/states/checkpoints/attempt_verdicts.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using Notice = AttemptVerdicts::Notice;

constexpr std::uint64_t kRun = std::uint64_t{7} << kAttemptBits;
constexpr std::uint64_t kOtherRun = std::uint64_t{8} << kAttemptBits;

TEST(AttemptVerdicts, AViewIsOfTheSameAttemptUntilStepsAreGivenUp) {
  AttemptVerdicts verdicts;
  verdicts.begin(kRun + 3);
  EXPECT_EQ(verdicts.enter(), kRun + 3);
  EXPECT_EQ(verdicts.enter(), kRun + 3);
  verdicts.give_up();
  EXPECT_EQ(verdicts.history(), kRun + 3) << "the next view begins another one";
  EXPECT_EQ(verdicts.enter(), kRun + 4);
  EXPECT_EQ(verdicts.enter(), kRun + 4);
}

TEST(AttemptVerdicts, ARunThatGoesOnAfterAllKeepsItsAttempt) {
  AttemptVerdicts verdicts;
  verdicts.begin(kRun + 3);
  verdicts.give_up();
  verdicts.goes_on();
  EXPECT_EQ(verdicts.enter(), kRun + 3);
}

TEST(AttemptVerdicts, KnowTheirOwnRun) {
  AttemptVerdicts verdicts;
  verdicts.begin(kRun + 3);
  EXPECT_TRUE(verdicts.of_this_run(kRun + 1));
  EXPECT_FALSE(verdicts.of_this_run(kOtherRun + 1));
}

TEST(AttemptVerdicts, AVerdictIsOnThisAttemptAndThoseBeforeIt) {
  AttemptVerdicts verdicts;
  verdicts.begin(kRun + 3);
  verdicts.add(10);
  EXPECT_TRUE(verdicts.are_on(kRun + 3, 10));
  EXPECT_TRUE(verdicts.are_on(kRun + 2, 12));
  EXPECT_FALSE(verdicts.are_on(kRun + 3, 9));
  EXPECT_FALSE(verdicts.are_on(kRun + 4, 10));
  EXPECT_FALSE(verdicts.are_on(kOtherRun + 3, 10));
}

TEST(AttemptVerdicts, OneThatSaysNothingNewIsNotAdded) {
  AttemptVerdicts verdicts;
  verdicts.begin(kRun + 3);
  verdicts.add(10);
  verdicts.add(12);
  EXPECT_EQ(verdicts.all(), (std::vector<Verdict>{{kRun + 3, 10}}));
  verdicts.add(8);
  EXPECT_EQ(verdicts.all().size(), 2u);
}

TEST(AttemptVerdicts, ARestartedCoordinatorRemembersTheEarliestSuspectOfItsRun) {
  AttemptVerdicts verdicts;
  verdicts.begin(kRun + 3);
  EXPECT_EQ(verdicts.remember({{kRun + 2, 5}, {kOtherRun + 9, 1}}), std::nullopt)
      << "the members began another attempt since";
  EXPECT_EQ(verdicts.enter(), kRun + 3);
  EXPECT_EQ(verdicts.remember({{kRun + 3, 20}, {kRun + 5, 15}, {kRun + 4, 30}}), 15u);
  EXPECT_EQ(verdicts.history(), kRun + 5);
  EXPECT_EQ(verdicts.enter(), kRun + 6);
}

TEST(AttemptVerdicts, ARestartedCoordinatorGivesUpWhatLiesBehindItsCheckpoint) {
  AttemptVerdicts verdicts;
  verdicts.begin(kRun + 3);
  EXPECT_FALSE(verdicts.add_abandoned(kRun + 3, 10, {{kRun + 2, 11}})) << "the folder says so";
  EXPECT_TRUE(verdicts.all().empty());
  EXPECT_TRUE(verdicts.add_abandoned(kRun + 3, 10, {{kRun + 2, 12}}));
  EXPECT_EQ(verdicts.all(), (std::vector<Verdict>{{kRun + 2, 11}}));
}

TEST(AttemptVerdicts, AreTriedAgainOnceInAWhileUntilTheFolderTakesThem) {
  AttemptVerdicts verdicts;
  const auto tries_in = [&](int ticks) {
    int tries = 0;
    for (int tick = 0; tick < ticks; ++tick) tries += verdicts.tries_again() ? 1 : 0;
    return tries;
  };
  EXPECT_EQ(tries_in(100), 0) << "there is nothing to mark";
  verdicts.mark(false);
  EXPECT_EQ(tries_in(19), 0);
  EXPECT_EQ(tries_in(1), 1);
  EXPECT_EQ(tries_in(20), 1);
  verdicts.mark(true);
  EXPECT_EQ(tries_in(100), 0);
}

TEST(AttemptVerdicts, OfAFolderThatTakesThemNothingIsTold) {
  AttemptVerdicts verdicts;
  EXPECT_EQ(verdicts.set_aside(true, true), Notice::none);
  EXPECT_EQ(verdicts.set_aside(true, false), Notice::none) << "what is marked need not be renamed";
  EXPECT_TRUE(verdicts.marked());
  EXPECT_FALSE(verdicts.suspects_stay());
}

TEST(AttemptVerdicts, OfAFolderThatOnlyRenamesIsToldOnce) {
  AttemptVerdicts verdicts;
  EXPECT_EQ(verdicts.set_aside(false, true), Notice::not_marked);
  EXPECT_EQ(verdicts.set_aside(false, true), Notice::none);
  EXPECT_FALSE(verdicts.marked());
  EXPECT_FALSE(verdicts.suspects_stay());
}

TEST(AttemptVerdicts, OfAFolderThatTakesNothingIsToldOnceAndAgainWhenItGetsWorse) {
  AttemptVerdicts verdicts;
  EXPECT_EQ(verdicts.set_aside(false, false), Notice::stay);
  EXPECT_TRUE(verdicts.suspects_stay());
  EXPECT_EQ(verdicts.set_aside(false, false), Notice::none);
  EXPECT_EQ(verdicts.set_aside(false, true), Notice::none);
  EXPECT_FALSE(verdicts.suspects_stay());
  EXPECT_EQ(verdicts.set_aside(false, false), Notice::stay);
  verdicts.marked_late();
  EXPECT_TRUE(verdicts.marked());
  EXPECT_FALSE(verdicts.suspects_stay());
}

}  // namespace
}  // namespace muster
