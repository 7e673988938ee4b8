// The share of the steps' time that a hand-over may take.
#include <gtest/gtest.h>

#include "transport/collective/transfer/handover_pace.hpp"

namespace {

using muster::HandoverPace;
using Time = HandoverPace::Time;
using std::chrono::milliseconds;

constexpr Time kStep = milliseconds(100);

HandoverPace::Sight at(Time now) {
  HandoverPace::Sight sight;
  sight.now = now;
  sight.step = kStep;
  return sight;
}

// Looks every millisecond, and sends when it may; each piece takes `piece`, one after the other.
Time busy_after(HandoverPace& pace, Time end, Time piece) {
  constexpr Time kNothingOnItsWay = Time::max();
  Time arrives = kNothingOnItsWay;
  for (Time now{0}; now < end; now += milliseconds(1)) {
    if (now >= arrives) {
      pace.ended(now);
      arrives = kNothingOnItsWay;
    }
    if (arrives == kNothingOnItsWay && pace.judge(at(now)).go) {
      pace.began(now);
      arrives = now + piece;
    }
  }
  return pace.busy();
}

TEST(HandoverPace, OfTheTimeThatPassesAtMostTheShareIsTaken) {
  for (const double share : {0.02, 0.1, 0.5, 1.0}) {
    for (const Time piece : {Time(milliseconds(1)), Time(milliseconds(8)), Time(milliseconds(300))}) {
      HandoverPace pace(share);
      const Time end = std::chrono::seconds(60);
      const double taken =
          static_cast<double>(busy_after(pace, end, piece).count()) / static_cast<double>(end.count());
      EXPECT_LE(taken, share + 0.006) << piece.count();  // the last piece may just have begun
      EXPECT_GE(taken, 0.85 * share) << piece.count();   // and it gets on
    }
  }
}

TEST(HandoverPace, WhatWasNotUsedIsKeptForOneStepAndNoMore) {
  HandoverPace pace(0.1);
  const Time later = std::chrono::hours(1);
  Time sent{0};
  Time now = later;
  while (pace.judge(at(now)).go) {
    pace.began(now);
    now += milliseconds(1);
    sent += milliseconds(1);
    pace.ended(now);
  }
  EXPECT_GE(sent, milliseconds(100));  // a step
  EXPECT_LE(sent, milliseconds(113));  // and a tenth of the time that it took
}

TEST(HandoverPace, AStateThatTakesLessThanAStepGoesWholeBetweenTwo) {
  HandoverPace pace(0.1);
  Time now = std::chrono::hours(1);
  for (int piece = 0; piece < 14; ++piece) {  // 3.4 MB in pieces of 256 KiB, of 4 ms each
    ASSERT_TRUE(pace.judge(at(now)).go) << piece;
    pace.began(now);
    now += milliseconds(4);
    pace.ended(now);
  }
}

TEST(HandoverPace, TheNextHandOverWaitsUntilTheShareIsEarnedAgain) {
  HandoverPace pace(0.1);
  Time now = std::chrono::hours(1);
  ASSERT_TRUE(pace.judge(at(now)).go);
  pace.began(now);
  now += 2 * kStep;  // a piece that cost more than is kept
  pace.ended(now);
  EXPECT_FALSE(pace.judge(at(now)).go);
  EXPECT_FALSE(pace.judge(at(now + milliseconds(700))).go);
  EXPECT_TRUE(pace.judge(at(now + milliseconds(900))).go);
}

TEST(HandoverPace, AStepOfMinutesKeepsNoMoreThanTheShareOfAMinute) {
  HandoverPace pace(0.01);
  auto sight = at(std::chrono::hours(1));
  sight.step = std::chrono::minutes(5);
  Time sent{0};
  while (pace.judge(sight).go) {
    pace.began(sight.now);
    sight.now += milliseconds(10);
    sent += milliseconds(10);
    pace.ended(sight.now);
  }
  EXPECT_GE(sent, milliseconds(600));
  EXPECT_LE(sent, milliseconds(620));
}

TEST(HandoverPace, SeveralAreOnTheirWayOnlyIfAllArePaidFor) {
  HandoverPace pace(0.1);
  ASSERT_TRUE(pace.judge(at(milliseconds(10))).go);
  pace.began(milliseconds(100));
  EXPECT_FALSE(pace.judge(at(milliseconds(100))).go) << "nobody knows yet how long one takes";
  pace.ended(milliseconds(104));
  ASSERT_TRUE(pace.judge(at(milliseconds(140))).go);
  for (int piece = 0; piece < 3; ++piece) {
    EXPECT_TRUE(pace.judge(at(milliseconds(140))).go) << piece;  // of 4 ms each, with 10 to spend
    pace.began(milliseconds(140));
  }
  const auto verdict = pace.judge(at(milliseconds(140)));
  EXPECT_FALSE(verdict.go);
  EXPECT_EQ(verdict.reason, "the share is used up");
}

TEST(HandoverPace, ARoundThatSendsGoesFirstButNotForEver) {
  HandoverPace pace(0.1);
  auto sight = at(std::chrono::seconds(1));
  sight.round_sends = true;
  EXPECT_FALSE(pace.judge(sight).go);
  EXPECT_EQ(pace.judge(sight).reason, "a round sends");
  sight.now += HandoverPace::kYieldMax - Time(1);
  EXPECT_FALSE(pace.judge(sight).go);
  sight.now += Time(1);
  EXPECT_TRUE(pace.judge(sight).go);
}

TEST(HandoverPace, AnIdleMomentBetweenTwoRoundsEndsTheWaiting) {
  HandoverPace pace(0.1);
  auto sight = at(std::chrono::seconds(1));
  sight.round_sends = true;
  EXPECT_FALSE(pace.judge(sight).go);
  sight.round_sends = false;
  EXPECT_TRUE(pace.judge(sight).go);
  sight.round_sends = true;
  sight.now += HandoverPace::kYieldMax;
  EXPECT_FALSE(pace.judge(sight).go) << "it waits anew";
}

TEST(HandoverPace, NothingIsHeldBackWhereNobodyPays) {
  HandoverPace pace(0.01);
  pace.began(Time(0));
  const Time now = milliseconds(900);  // deep in debt
  ASSERT_FALSE(pace.judge(at(now)).go);
  auto sight = at(now);
  sight.round_sends = true;
  sight.steps_run = false;
  EXPECT_TRUE(pace.judge(sight).go);
  sight = at(now);
  sight.small = true;
  EXPECT_TRUE(pace.judge(sight).go);
}

TEST(HandoverPace, WhoWouldFallOutOfReachIsHurried) {
  HandoverPace pace(0.01);
  pace.began(Time(0));
  auto sight = at(milliseconds(900));
  sight.round_sends = true;
  sight.hurry = true;
  EXPECT_TRUE(pace.judge(sight).go);
}

TEST(HandoverPace, APieceThatNeverArrivesIsPaidForOnceAndWithinBounds) {
  HandoverPace pace(0.1);
  pace.began(Time(0));
  pace.ended(std::chrono::minutes(10));
  const Time paid = std::chrono::minutes(10) + HandoverPace::kDebtMax * 10;
  EXPECT_FALSE(pace.judge(at(paid - milliseconds(1))).go);
  EXPECT_TRUE(pace.judge(at(paid)).go);
}

TEST(HandoverPace, BeforeTheFirstStepOnePieceGoesAtATime) {
  HandoverPace pace(0.1);
  HandoverPace::Sight sight;
  EXPECT_TRUE(pace.judge(sight).go);
  pace.began(sight.now);
  EXPECT_FALSE(pace.judge(sight).go);
}

}  // namespace
