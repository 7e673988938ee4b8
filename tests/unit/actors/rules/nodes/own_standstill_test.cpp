#include "actors/rules/nodes/own_standstill.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr OwnStandstill::Time kOwnStandstillStart{1h};

TEST(OwnStandstill, TicksOnTimeAreNone) {
  OwnStandstill standstill;
  EXPECT_EQ(standstill.tick(kOwnStandstillStart, 200ms), 0ms) << "the first one";
  EXPECT_EQ(standstill.tick(kOwnStandstillStart + 50ms, 200ms), 0ms);
  EXPECT_EQ(standstill.tick(kOwnStandstillStart + 249ms, 200ms), 0ms);
  EXPECT_EQ(standstill.total(), 0ms);
}

TEST(OwnStandstill, TheFirstTickMayBeLateToo) {
  OwnStandstill standstill;
  standstill.begin(kOwnStandstillStart);
  EXPECT_EQ(standstill.tick(kOwnStandstillStart + 10s, 200ms), 10s);
}

TEST(OwnStandstill, ATickThatIsLateIsOne) {
  OwnStandstill standstill;
  standstill.tick(kOwnStandstillStart, 200ms);
  EXPECT_EQ(standstill.tick(kOwnStandstillStart + 200ms, 200ms), 200ms);
  EXPECT_EQ(standstill.tick(kOwnStandstillStart + 250ms, 200ms), 0ms);
  EXPECT_EQ(standstill.tick(kOwnStandstillStart + 10250ms, 200ms), 10s);
  EXPECT_EQ(standstill.total(), 10200ms);
}

}  // namespace
}  // namespace muster
