// The share of the steps' time that a state transfer may take.
#include <gtest/gtest.h>

#include "transport/collective/transfer/transfer_pace.hpp"

namespace {

using muster::TransferPace;
using Time = TransferPace::Time;
using std::chrono::milliseconds;

constexpr Time kStep = milliseconds(100);

TransferPace::Sight at(Time now) {
  TransferPace::Sight sight;
  sight.now = now;
  sight.step = kStep;
  return sight;
}

// Looks every millisecond, and sends when it may; each piece takes `piece`, one after the other.
Time busy_after(TransferPace& pace, Time end, Time piece) {
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

TEST(TransferPace, OfTheTimeThatPassesAtMostTheShareIsTaken) {
  for (const double share : {0.02, 0.1, 0.5, 1.0}) {
    for (const Time piece : {Time(milliseconds(1)), Time(milliseconds(8)), Time(milliseconds(300))}) {
      TransferPace pace(share);
      const Time end = std::chrono::seconds(60);
      const double taken =
          static_cast<double>(busy_after(pace, end, piece).count()) / static_cast<double>(end.count());
      EXPECT_LE(taken, share + 0.006) << piece.count();  // the last piece may just have begun
      EXPECT_GE(taken, 0.85 * share) << piece.count();   // and it gets on
    }
  }
}

TEST(TransferPace, WhatWasNotUsedIsKeptForOneStepAndNoMore) {
  TransferPace pace(0.1);
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

TEST(TransferPace, AStateThatTakesLessThanAStepGoesWholeBetweenTwo) {
  TransferPace pace(0.1);
  Time now = std::chrono::hours(1);
  for (int piece = 0; piece < 14; ++piece) {  // 3.4 MB in pieces of 256 KiB, of 4 ms each
    ASSERT_TRUE(pace.judge(at(now)).go) << piece;
    pace.began(now);
    now += milliseconds(4);
    pace.ended(now);
  }
}

TEST(TransferPace, TheNextTransferWaitsUntilTheShareIsEarnedAgain) {
  TransferPace pace(0.1);
  Time now = std::chrono::hours(1);
  ASSERT_TRUE(pace.judge(at(now)).go);
  pace.began(now);
  now += 2 * kStep;  // a piece that cost more than is kept
  pace.ended(now);
  EXPECT_FALSE(pace.judge(at(now)).go);
  EXPECT_FALSE(pace.judge(at(now + milliseconds(700))).go);
  EXPECT_TRUE(pace.judge(at(now + milliseconds(900))).go);
}

TEST(TransferPace, AStepOfMinutesKeepsNoMoreThanTheShareOfAMinute) {
  TransferPace pace(0.01);
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

TEST(TransferPace, SeveralAreOnTheirWayOnlyIfAllArePaidFor) {
  TransferPace pace(0.1);
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

TEST(TransferPace, ARoundThatSendsGoesFirstButNotForEver) {
  TransferPace pace(0.1);
  auto sight = at(std::chrono::seconds(1));
  sight.round_sends = true;
  EXPECT_FALSE(pace.judge(sight).go);
  EXPECT_EQ(pace.judge(sight).reason, "a round sends");
  sight.now += TransferPace::kYieldMax - Time(1);
  EXPECT_FALSE(pace.judge(sight).go);
  sight.now += Time(1);
  EXPECT_TRUE(pace.judge(sight).go);
}

TEST(TransferPace, AnIdleMomentBetweenTwoRoundsEndsTheWaiting) {
  TransferPace pace(0.1);
  auto sight = at(std::chrono::seconds(1));
  sight.round_sends = true;
  EXPECT_FALSE(pace.judge(sight).go);
  sight.round_sends = false;
  EXPECT_TRUE(pace.judge(sight).go);
  sight.round_sends = true;
  sight.now += TransferPace::kYieldMax;
  EXPECT_FALSE(pace.judge(sight).go) << "it waits anew";
}

TEST(TransferPace, NothingIsHeldBackWhereNobodyPays) {
  TransferPace pace(0.01);
  pace.began(Time(0));
  const Time now = milliseconds(900);  // deep in overdraft
  ASSERT_FALSE(pace.judge(at(now)).go);
  auto sight = at(now);
  sight.round_sends = true;
  sight.steps_run = false;
  EXPECT_TRUE(pace.judge(sight).go);
  sight = at(now);
  sight.small = true;
  EXPECT_TRUE(pace.judge(sight).go);
}

TEST(TransferPace, WhoWouldFallOutOfReachIsHurried) {
  TransferPace pace(0.01);
  pace.began(Time(0));
  auto sight = at(milliseconds(900));
  sight.round_sends = true;
  sight.hurry = true;
  EXPECT_TRUE(pace.judge(sight).go);
}

TEST(TransferPace, APieceThatNeverArrivesIsPaidForOnceAndWithinBounds) {
  TransferPace pace(0.1);
  pace.began(Time(0));
  pace.ended(std::chrono::minutes(10));
  const Time paid = std::chrono::minutes(10) + TransferPace::kOverdraftMax * 10;
  EXPECT_FALSE(pace.judge(at(paid - milliseconds(1))).go);
  EXPECT_TRUE(pace.judge(at(paid)).go);
}

TEST(TransferPace, BeforeTheFirstStepOnePieceGoesAtATime) {
  TransferPace pace(0.1);
  TransferPace::Sight sight;
  EXPECT_TRUE(pace.judge(sight).go);
  pace.began(sight.now);
  EXPECT_FALSE(pace.judge(sight).go);
}

}  // namespace
