#include "actors/coordinator/states/waits/own_standstill.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr OwnStandstill::Time kStart{1h};

TEST(OwnStandstill, TicksOnTimeAreNone) {
  OwnStandstill standstill;
  EXPECT_EQ(standstill.tick(kStart, 200ms), 0ms) << "the first one";
  EXPECT_EQ(standstill.tick(kStart + 50ms, 200ms), 0ms);
  EXPECT_EQ(standstill.tick(kStart + 249ms, 200ms), 0ms);
  EXPECT_EQ(standstill.total(), 0ms);
}

TEST(OwnStandstill, ATickThatIsLateIsOne) {
  OwnStandstill standstill;
  standstill.tick(kStart, 200ms);
  EXPECT_EQ(standstill.tick(kStart + 200ms, 200ms), 200ms);
  EXPECT_EQ(standstill.tick(kStart + 250ms, 200ms), 0ms);
  EXPECT_EQ(standstill.tick(kStart + 10250ms, 200ms), 10s);
  EXPECT_EQ(standstill.total(), 10200ms);
}

}  // namespace
}  // namespace muster
