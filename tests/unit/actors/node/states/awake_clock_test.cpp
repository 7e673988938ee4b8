#include "actors/node/states/awake_clock.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST(AwakeClock, GoesAsTheOtherWhileItIsLookedAt) {
  AwakeClock clock(100ms);
  EXPECT_EQ(clock.look(7s), 7s);
  EXPECT_EQ(clock.look(7s + 90ms), 7s + 90ms);
  EXPECT_EQ(clock.look(7s + 290ms), 7s + 290ms) << "late by one look";
  EXPECT_EQ(clock.look(7s + 290ms), 7s + 290ms);
}

TEST(AwakeClock, StandsStillWhileNobodyLooks) {
  AwakeClock clock(100ms);
  clock.look(7s);
  EXPECT_EQ(clock.look(1h), 7s + 200ms);
  EXPECT_EQ(clock.look(1h + 50ms), 7s + 250ms);
}

}  // namespace
}  // namespace muster
