// When a write that the disk refused is tried again.
#include <gtest/gtest.h>

#include "actors/messages/disk_retry.hpp"

namespace {

using namespace muster;
using namespace std::chrono_literals;

TEST(DiskRetry, WaitsDoubleUpToABound) {
  EXPECT_EQ(disk_wait(1), kDiskAgainMin);
  EXPECT_EQ(disk_wait(2), 2 * kDiskAgainMin);
  EXPECT_EQ(disk_wait(3), 4 * kDiskAgainMin);
  EXPECT_EQ(disk_wait(1000), kDiskAgainMax);
  EXPECT_EQ(disk_back_off(kDiskAgainMax), kDiskAgainMax);
}

TEST(DiskRetry, TheLastTryIsAtTheTimeAtWhichItIsGivenUp) {
  EXPECT_EQ(disk_again_in(1s, 0s, 5s), 1s);
  EXPECT_EQ(disk_again_in(4s, 3s, 5s), 2s);
  EXPECT_FALSE(disk_again_in(1s, 5s, 5s));
}

TEST(DiskRetry, ManyTriesFitIntoTheTimeAndTheyEnd) {
  std::chrono::nanoseconds since{0};
  std::uint32_t tries = 0;
  while (const auto wait = disk_again_in(disk_wait(++tries), since, 10min)) since += *wait;
  EXPECT_EQ(since, 10min);
  EXPECT_GT(tries, 50u);
  EXPECT_LT(tries, 100u);
}

}  // namespace
