#include "actors/coordinator/states/checkpoints/mount_wait.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr MountWait::Time kStart{1h};

TEST(MountWait, AReplicaThatAloneDoesNotFindItLooksOnceMore) {
  MountWait wait;
  EXPECT_TRUE(wait.may_find(1, 10s));
  EXPECT_TRUE(wait.missed(false, kStart));
  EXPECT_FALSE(wait.by_all());
  EXPECT_TRUE(wait.look_again({1}, kStart, 10s));
  EXPECT_FALSE(wait.may_find(1, 10s));
  EXPECT_TRUE(wait.may_find(2, 10s));
  EXPECT_FALSE(wait.missed(false, kStart)) << "it was said";
}

TEST(MountWait, AllLookAgainEachTimeLaterUntilTheTimeIsOver) {
  MountWait wait;
  EXPECT_TRUE(wait.missed(true, kStart));
  EXPECT_TRUE(wait.by_all());
  EXPECT_TRUE(wait.look_again({}, kStart, 250ms));
  EXPECT_EQ(wait.next_look(kStart), kStart + 100ms);
  EXPECT_EQ(wait.next_look(kStart + 100ms), std::nullopt) << "it is time";
  EXPECT_TRUE(wait.may_find(1, 250ms));
  EXPECT_TRUE(wait.look_again({}, kStart + 100ms, 250ms));
  EXPECT_EQ(wait.next_look(kStart + 100ms), kStart + 250ms) << "the last look";
  EXPECT_FALSE(wait.may_find(1, 250ms));
  EXPECT_FALSE(wait.look_again({}, kStart + 250ms, 250ms));
}

TEST(MountWait, WhenNoReplicaFindsItAnyMoreAllAreWaitedForAnew) {
  MountWait wait;
  wait.missed(false, kStart);
  ASSERT_TRUE(wait.look_again({1}, kStart, 10s));
  EXPECT_TRUE(wait.missed(true, kStart + 1s));
  EXPECT_TRUE(wait.may_find(1, 10s));
  EXPECT_FALSE(wait.missed(false, kStart + 2s)) << "all are waited for";
  EXPECT_TRUE(wait.by_all());
}

TEST(MountWait, WhatIsFoundIsWaitedForNoMore) {
  MountWait wait;
  wait.missed(true, kStart);
  ASSERT_TRUE(wait.look_again({}, kStart, 10s));
  wait.end();
  EXPECT_FALSE(wait.by_all());
  EXPECT_FALSE(wait.next_look(kStart));
  EXPECT_TRUE(wait.missed(true, kStart + 1s));
}

TEST(MountWait, TimeInWhichNobodyCouldLookDoesNotCount) {
  MountWait wait;
  wait.stood_still(1s, kStart);
  EXPECT_FALSE(wait.by_all());
  wait.missed(true, kStart);
  ASSERT_TRUE(wait.look_again({}, kStart, 100ms));
  EXPECT_FALSE(wait.may_find(1, 100ms));
  wait.stood_still(5s, kStart + 5s);
  EXPECT_TRUE(wait.may_find(1, 100ms));
  EXPECT_TRUE(wait.look_again({}, kStart + 5s, 100ms));
}

}  // namespace
}  // namespace muster
