#include "actors/coordinator/states/waits/phase_timers.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;
using Wait = PhaseTimers::Wait;

TEST(PhaseTimers, AWaitIsOverAfterItsPatience) {
  PhaseTimers timers(50ms);
  EXPECT_FALSE(timers.is_over(Wait::closing, 120ms));
  EXPECT_FALSE(timers.is_over(Wait::closing, 120ms));
  EXPECT_TRUE(timers.is_over(Wait::closing, 120ms));
  EXPECT_TRUE(timers.is_over(Wait::closing, 120ms)) << "until it is restarted";
  timers.restart(Wait::closing);
  EXPECT_FALSE(timers.is_over(Wait::closing, 120ms));
}

TEST(PhaseTimers, EachWaitHasItsOwnTime) {
  PhaseTimers timers(50ms);
  EXPECT_TRUE(timers.is_over(Wait::installing, 50ms));
  EXPECT_FALSE(timers.is_over(Wait::loaders, 100ms));
  timers.restart(Wait::installing);
  EXPECT_TRUE(timers.is_over(Wait::loaders, 100ms));
  EXPECT_FALSE(timers.is_over(Wait::returns, 100ms));
}

TEST(PhaseTimers, WhatIsNoTickDoesNotCount) {
  PhaseTimers timers(50ms);
  EXPECT_FALSE(timers.is_over(Wait::going_back, 100ms, true));
  EXPECT_FALSE(timers.is_over(Wait::going_back, 100ms, false));
  EXPECT_TRUE(timers.is_over(Wait::going_back, 100ms, true));
}

TEST(PhaseTimers, SayForHowLongSomethingIsWaitedFor) {
  PhaseTimers timers(50ms);
  EXPECT_EQ(timers.pass(Wait::reading), 50ms);
  EXPECT_EQ(timers.pass(Wait::reading), 100ms);
  timers.restart(Wait::reading);
  EXPECT_EQ(timers.pass(Wait::reading), 50ms);
}

}  // namespace
}  // namespace muster
