#include "actors/coordinator/states/waits/recovery_clock.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr RecoveryClock::Time kStart{1h};

TEST(RecoveryClock, ARecoveryTakesFromTheFirstLossToTheFirstStep) {
  RecoveryClock clock;
  EXPECT_FALSE(clock.makes_step(kStart));
  clock.loses(kStart);
  clock.loses(kStart + 1s);
  EXPECT_EQ(clock.makes_step(kStart + 3s), 3s);
  EXPECT_FALSE(clock.makes_step(kStart + 4s)) << "once";
}

TEST(RecoveryClock, APauseGoesOnUntilAViewIsInForce) {
  RecoveryClock clock;
  clock.pause("1 replica", kStart);
  EXPECT_EQ(clock.left(kStart, 10s), 10s);
  clock.pause("2 replicas", kStart + 4s);
  EXPECT_EQ(clock.missing(), "2 replicas");
  EXPECT_EQ(clock.left(kStart + 4s, 10s), 6s);
  EXPECT_FALSE(clock.is_over(kStart + 9s, 10s));
  EXPECT_TRUE(clock.is_over(kStart + 10s, 10s));
  EXPECT_EQ(clock.left(kStart + 11s, 10s), 0s);
  clock.end_pause();
  clock.pause("1 replica", kStart + 20s);
  EXPECT_EQ(clock.left(kStart + 20s, 10s), 10s);
}

TEST(RecoveryClock, TimeInWhichNobodyCouldComeDoesNotCount) {
  RecoveryClock clock;
  clock.stood_still(1s, kStart);
  clock.pause("1 replica", kStart);
  clock.stood_still(5s, kStart + 6s);
  EXPECT_EQ(clock.left(kStart + 6s, 10s), 9s);
  clock.stood_still(1h, kStart + 6s);
  EXPECT_EQ(clock.left(kStart + 6s, 10s), 10s);
}

}  // namespace
}  // namespace muster
