#include "actors/coordinator/states/checkpoints/suspect_steps.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace muster {
namespace {

using Act = Judgement::Act;
using Steps = SuspectSteps::Steps;

Judgement judgement(Act act, std::vector<std::uint32_t> odd = {}, bool sure = true) {
  return {act, std::move(odd), sure};
}

View view_of(std::vector<std::uint32_t> slots, std::uint32_t number = 1) {
  View view;
  view.number = number;
  for (const std::uint32_t slot : slots) {
    Member member;
    member.name = {false, slot};
    view.replicas.push_back(member);
  }
  return view;
}

TEST(SuspectSteps, NothingIsSuspectedAtFirst) {
  const SuspectSteps suspects;
  EXPECT_FALSE(suspects.any());
  EXPECT_EQ(suspects.from(), 0u);
  EXPECT_FALSE(suspects.hold(1000));
  EXPECT_EQ(suspects.good_before(), std::numeric_limits<std::uint64_t>::max());
}

TEST(SuspectSteps, TheEarliestSuspectCountsUntilAllHaveGoneBack) {
  SuspectSteps suspects;
  suspects.suspect(10);
  suspects.suspect(12);
  EXPECT_EQ(suspects.from(), 10u);
  suspects.suspect(8);
  EXPECT_EQ(suspects.from(), 8u);
  EXPECT_EQ(suspects.good_before(), 8u);
  EXPECT_TRUE(suspects.hold(8));
  EXPECT_FALSE(suspects.hold(7));
  EXPECT_EQ(suspects.clear(), 8u);
  EXPECT_FALSE(suspects.any());
  EXPECT_EQ(suspects.clear(), std::nullopt);
}

TEST(SuspectSteps, BehindAnOlderCheckpointAllAreSuspected) {
  SuspectSteps suspects;
  suspects.suspect(20);
  suspects.suspect_only(5);
  EXPECT_EQ(suspects.from(), 5u);
  suspects.suspect_only(9);
  EXPECT_EQ(suspects.from(), 9u);
}

TEST(SuspectSteps, WhatTheCoordinatorBeforeSuspectedIsKnown) {
  SuspectSteps suspects;
  suspects.suspect(10);
  EXPECT_FALSE(suspects.were_suspected_before());
  suspects.suspected_before(14);
  EXPECT_TRUE(suspects.were_suspected_before());
  EXPECT_EQ(suspects.from(), 10u);
  suspects.forget_before();
  EXPECT_FALSE(suspects.were_suspected_before());
  EXPECT_TRUE(suspects.any());
}

TEST(SuspectSteps, AJournalOfAnOlderViewSaysNothing) {
  SuspectSteps suspects;
  suspects.suspected_before(10);
  suspects.doubt(4, {0, 1});
  suspects.forget();
  EXPECT_FALSE(suspects.any());
  EXPECT_FALSE(suspects.in_doubt());
  EXPECT_FALSE(suspects.were_suspected_before());
}

TEST(SuspectSteps, AReportIsNewOnceInAView) {
  SuspectSteps suspects;
  EXPECT_TRUE(suspects.is_news(3, 1, judgement(Act::evict, {2})));
  EXPECT_FALSE(suspects.is_news(3, 1, judgement(Act::evict, {2})));
  EXPECT_FALSE(suspects.is_news(3, 2, judgement(Act::stop))) << "the view is closed for the first one";
  EXPECT_TRUE(suspects.is_news(4, 1, judgement(Act::evict, {2})));
}

TEST(SuspectSteps, ARunThatGoesOnReportsEachReplicaOnce) {
  SuspectSteps suspects;
  EXPECT_TRUE(suspects.is_news(3, 1, judgement(Act::report, {2})));
  EXPECT_FALSE(suspects.is_news(3, 1, judgement(Act::report, {2})));
  EXPECT_TRUE(suspects.is_news(3, 1, judgement(Act::report, {1})));
  EXPECT_TRUE(suspects.is_news(3, 2, judgement(Act::report, {2})));
}

TEST(SuspectSteps, AppliedStepsAreInDoubtWhereNobodyKnowsWhoWasWrong) {
  SuspectSteps suspects;
  suspects.judged(judgement(Act::again), Bits::gradient, 6, false, {0, 1});
  EXPECT_FALSE(suspects.in_doubt()) << "the step is not applied";
  suspects.judged(judgement(Act::again), Bits::gradient, 6, true, {0, 1});
  EXPECT_TRUE(suspects.in_doubt());
  EXPECT_EQ(suspects.doubt_from(), 6u);
  suspects.judged(judgement(Act::evict, {1}, false), Bits::gradient, 7, false, {0, 1});
  EXPECT_TRUE(suspects.in_doubt()) << "a newcomer goes that may be right";
  suspects.judged(judgement(Act::evict, {1}), Bits::weights, 7, false, {0, 1});
  EXPECT_TRUE(suspects.in_doubt()) << "weights say nothing of who computed wrong gradients";
  suspects.judged(judgement(Act::evict, {1}), Bits::gradient, 7, false, {0, 1});
  EXPECT_FALSE(suspects.in_doubt());
}

TEST(SuspectSteps, SuspectedStepsAreNotInDoubtBesides) {
  SuspectSteps suspects;
  suspects.suspect(5);
  suspects.judged(judgement(Act::again), Bits::gradient, 6, true, {0, 1});
  EXPECT_FALSE(suspects.in_doubt());
}

TEST(SuspectSteps, ADoubtIsSettledByAStepInWhichAllWereCompared) {
  SuspectSteps suspects;
  ASSERT_TRUE(suspects.is_news(3, 2, judgement(Act::again)));
  suspects.doubt(6, {0, 1});
  View next = view_of({0, 1}, 4);
  next.doubted_from = 6;
  next.doubted_to = 8;
  EXPECT_FALSE(suspects.settled_by(7, next));
  View same = next;
  same.number = 3;
  EXPECT_FALSE(suspects.settled_by(8, same)) << "in this view members differ";
  EXPECT_TRUE(suspects.settled_by(8, next));
  EXPECT_FALSE(suspects.in_doubt());
  EXPECT_FALSE(suspects.settled_by(9, next)) << "once";
}

TEST(SuspectSteps, ADoubtCanBeSettledOnlyWithAllWhoWereCompared) {
  SuspectSteps suspects;
  EXPECT_TRUE(suspects.can_be_settled_in(view_of({})));
  suspects.doubt(6, {0, 2});
  EXPECT_TRUE(suspects.can_be_settled_in(view_of({0, 1, 2})));
  EXPECT_FALSE(suspects.can_be_settled_in(view_of({0, 1})));
  EXPECT_EQ(suspects.end_doubt(), 6u);
  EXPECT_FALSE(suspects.in_doubt());
  EXPECT_EQ(suspects.doubt_from(), 0u);
}

TEST(SuspectSteps, TheNextViewComparesAllInTheStepThatIsDoneAgain) {
  SuspectSteps suspects;
  EXPECT_FALSE(suspects.compared_next());
  suspects.compare_again(6, 9, view_of({0, 1}));
  EXPECT_EQ(suspects.compared_next(), (Steps{6, 9}));
  suspects.compare_again(10, 9, view_of({0, 1}));
  EXPECT_EQ(suspects.compared_next(), (Steps{9, 9})) << "no applied step is in doubt";
  suspects.made_view();
  EXPECT_FALSE(suspects.compared_next());
}

TEST(SuspectSteps, AViewInTheMiddleOfADoubtComparesThatToItsEnd) {
  SuspectSteps suspects;
  View view = view_of({0, 1});
  view.doubted_from = 4;
  view.doubted_to = 12;
  suspects.compare_again(6, 9, view);
  EXPECT_EQ(suspects.compared_next(), (Steps{4, 12}));
  view.doubted_to = 8;
  suspects.compare_again(6, 9, view);
  EXPECT_EQ(suspects.compared_next(), (Steps{6, 9})) << "that doubt is over";
}

TEST(SuspectSteps, StepsThatTheCoordinatorBeforeGaveUpAreComparedOnce) {
  SuspectSteps suspects;
  suspects.suspect(10);
  suspects.compare_given_up(15, view_of({0, 1}));
  EXPECT_FALSE(suspects.compared_next()) << "this coordinator knows who was wrong";
  suspects.suspected_before(10);
  suspects.compare_given_up(15, view_of({0, 1}));
  EXPECT_EQ(suspects.compared_next(), (Steps{10, 15}));
  suspects.made_view();
  suspects.compare_given_up(15, view_of({0, 1}));
  EXPECT_FALSE(suspects.compared_next());
}

TEST(SuspectSteps, StepsThatWereGivenUpAndThoseInAnOlderDoubtAreComparedTogether) {
  SuspectSteps suspects;
  suspects.suspected_before(10);
  View view = view_of({0, 1});
  view.doubted_from = 7;
  view.doubted_to = 20;
  suspects.compare_given_up(5, view);
  EXPECT_EQ(suspects.compared_next(), (Steps{7, 20}));
}

}  // namespace
}  // namespace muster
