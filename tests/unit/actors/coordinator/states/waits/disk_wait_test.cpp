#include "actors/coordinator/states/waits/disk_wait.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr DiskWait::Time kDiskWaitStart{1h};

TEST(DiskWait, TheWaitDoublesWithEachRefusal) {
  DiskWait wait;
  EXPECT_FALSE(wait.waits());
  EXPECT_TRUE(wait.refused(kDiskWaitStart));
  EXPECT_TRUE(wait.waits());
  EXPECT_EQ(wait.next(kDiskWaitStart, 10s), 100ms);
  wait.back_off();
  EXPECT_FALSE(wait.refused(kDiskWaitStart + 100ms)) << "it did before";
  EXPECT_EQ(wait.next(kDiskWaitStart + 100ms, 10s), 200ms);
}

TEST(DiskWait, TheLastTryIsWhenTheTimeIsOver) {
  DiskWait wait;
  wait.refused(kDiskWaitStart);
  EXPECT_EQ(wait.next(kDiskWaitStart + 9950ms, 10s), 50ms);
  EXPECT_EQ(wait.next(kDiskWaitStart + 10s, 10s), std::nullopt);
}

TEST(DiskWait, ADiskThatRefusesAnewIsTriedSoon) {
  DiskWait wait;
  wait.refused(kDiskWaitStart);
  wait.back_off();
  wait.end();
  EXPECT_FALSE(wait.waits());
  EXPECT_TRUE(wait.refused(kDiskWaitStart + 1h));
  EXPECT_EQ(wait.next(kDiskWaitStart + 1h, 10s), 100ms);
}

TEST(DiskWait, TimeInWhichNobodyCouldTryDoesNotCount) {
  DiskWait wait;
  wait.stood_still(1s, kDiskWaitStart);
  EXPECT_FALSE(wait.waits());
  wait.refused(kDiskWaitStart);
  wait.stood_still(5s, kDiskWaitStart + 6s);
  EXPECT_TRUE(wait.next(kDiskWaitStart + 14s, 10s));
  EXPECT_FALSE(wait.next(kDiskWaitStart + 15s, 10s));
  wait.stood_still(1h, kDiskWaitStart + 15s);
  EXPECT_EQ(wait.next(kDiskWaitStart + 15s, 50ms), 50ms) << "it refuses since now at the latest";
}

}  // namespace
}  // namespace muster
