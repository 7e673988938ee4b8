#include "actors/coordinator/states/checkpoints/mount_wait.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr MountWait::Time kMountWaitStart{1h};

TEST(MountWait, AReplicaThatAloneDoesNotFindItLooksOnceMore) {
  MountWait wait;
  EXPECT_TRUE(wait.may_find(1, 10s));
  EXPECT_TRUE(wait.missed(false, kMountWaitStart));
  EXPECT_FALSE(wait.by_all());
  EXPECT_TRUE(wait.look_again({1}, kMountWaitStart, 10s));
  EXPECT_FALSE(wait.may_find(1, 10s));
  EXPECT_TRUE(wait.may_find(2, 10s));
  EXPECT_FALSE(wait.missed(false, kMountWaitStart)) << "it was said";
}

TEST(MountWait, AllLookAgainEachTimeLaterUntilTheTimeIsOver) {
  MountWait wait;
  EXPECT_TRUE(wait.missed(true, kMountWaitStart));
  EXPECT_TRUE(wait.by_all());
  EXPECT_TRUE(wait.look_again({}, kMountWaitStart, 250ms));
  EXPECT_EQ(wait.next_look(kMountWaitStart), kMountWaitStart + 100ms);
  EXPECT_EQ(wait.next_look(kMountWaitStart + 100ms), std::nullopt) << "it is time";
  EXPECT_TRUE(wait.may_find(1, 250ms));
  EXPECT_TRUE(wait.look_again({}, kMountWaitStart + 100ms, 250ms));
  EXPECT_EQ(wait.next_look(kMountWaitStart + 100ms), kMountWaitStart + 250ms) << "the last look";
  EXPECT_FALSE(wait.may_find(1, 250ms));
  EXPECT_FALSE(wait.look_again({}, kMountWaitStart + 250ms, 250ms));
}

TEST(MountWait, WhenNoReplicaFindsItAnyMoreAllAreWaitedForAnew) {
  MountWait wait;
  wait.missed(false, kMountWaitStart);
  ASSERT_TRUE(wait.look_again({1}, kMountWaitStart, 10s));
  EXPECT_TRUE(wait.missed(true, kMountWaitStart + 1s));
  EXPECT_TRUE(wait.may_find(1, 10s));
  EXPECT_FALSE(wait.missed(false, kMountWaitStart + 2s)) << "all are waited for";
  EXPECT_TRUE(wait.by_all());
}

TEST(MountWait, WhatIsFoundIsWaitedForNoMore) {
  MountWait wait;
  wait.missed(true, kMountWaitStart);
  ASSERT_TRUE(wait.look_again({}, kMountWaitStart, 10s));
  wait.end();
  EXPECT_FALSE(wait.by_all());
  EXPECT_FALSE(wait.next_look(kMountWaitStart));
  EXPECT_TRUE(wait.missed(true, kMountWaitStart + 1s));
}

TEST(MountWait, TimeInWhichNobodyCouldLookDoesNotCount) {
  MountWait wait;
  wait.stood_still(1s, kMountWaitStart);
  EXPECT_FALSE(wait.by_all());
  wait.missed(true, kMountWaitStart);
  ASSERT_TRUE(wait.look_again({}, kMountWaitStart, 100ms));
  EXPECT_FALSE(wait.may_find(1, 100ms));
  wait.stood_still(5s, kMountWaitStart + 5s);
  EXPECT_TRUE(wait.may_find(1, 100ms));
  EXPECT_TRUE(wait.look_again({}, kMountWaitStart + 5s, 100ms));
}

}  // namespace
}  // namespace muster
