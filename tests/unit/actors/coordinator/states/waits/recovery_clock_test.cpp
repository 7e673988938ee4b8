#include "actors/coordinator/states/waits/recovery_clock.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr RecoveryClock::Time kRecoveryClockStart{1h};

TEST(RecoveryClock, ARecoveryTakesFromTheFirstLossToTheFirstStep) {
  RecoveryClock clock;
  EXPECT_FALSE(clock.makes_step(kRecoveryClockStart));
  clock.loses(kRecoveryClockStart);
  clock.loses(kRecoveryClockStart + 1s);
  EXPECT_EQ(clock.makes_step(kRecoveryClockStart + 3s), 3s);
  EXPECT_FALSE(clock.makes_step(kRecoveryClockStart + 4s)) << "once";
}

TEST(RecoveryClock, APauseGoesOnUntilAViewIsInForce) {
  RecoveryClock clock;
  clock.pause("1 replica", kRecoveryClockStart);
  EXPECT_EQ(clock.left(kRecoveryClockStart, 10s), 10s);
  clock.pause("2 replicas", kRecoveryClockStart + 4s);
  EXPECT_EQ(clock.missing(), "2 replicas");
  EXPECT_EQ(clock.left(kRecoveryClockStart + 4s, 10s), 6s);
  EXPECT_FALSE(clock.is_over(kRecoveryClockStart + 9s, 10s));
  EXPECT_TRUE(clock.is_over(kRecoveryClockStart + 10s, 10s));
  EXPECT_EQ(clock.left(kRecoveryClockStart + 11s, 10s), 0s);
  clock.end_pause();
  clock.pause("1 replica", kRecoveryClockStart + 20s);
  EXPECT_EQ(clock.left(kRecoveryClockStart + 20s, 10s), 10s);
}

TEST(RecoveryClock, TimeInWhichNobodyCouldComeDoesNotCount) {
  RecoveryClock clock;
  clock.stood_still(1s, kRecoveryClockStart);
  clock.pause("1 replica", kRecoveryClockStart);
  clock.stood_still(5s, kRecoveryClockStart + 6s);
  EXPECT_EQ(clock.left(kRecoveryClockStart + 6s, 10s), 9s);
  clock.stood_still(1h, kRecoveryClockStart + 6s);
  EXPECT_EQ(clock.left(kRecoveryClockStart + 6s, 10s), 10s);
}

}  // namespace
}  // namespace muster
