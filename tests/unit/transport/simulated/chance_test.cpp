#include "transport/simulated/chance.hpp"

#include <gtest/gtest.h>

namespace {

using namespace muster;
using muster::simulated::Chance;
using std::chrono::nanoseconds;

SimulatedNetworkOptions options() {
  SimulatedNetworkOptions options;
  options.delay_min = nanoseconds(10);
  options.delay_max = nanoseconds(20);
  options.notice_max = nanoseconds(60);
  options.again_max = nanoseconds(40);
  options.stall_min = nanoseconds(100);
  options.stall_max = nanoseconds(110);
  options.bandwidth = 1e9;  // a byte takes a nanosecond
  return options;
}

TEST(SimulatedChance, TheSameSeedDrawsTheSame) {
  Chance one(7, options()), same(7, options()), other(8, options());
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const nanoseconds time = one.hop();
    EXPECT_EQ(time, same.hop());
    differs |= time != other.hop();
  }
  EXPECT_TRUE(differs);
}

TEST(SimulatedChance, TimesLieBetweenTheirBoundsAndReachBoth) {
  Chance chance(7, options());
  const auto expect_range = [](auto draw, nanoseconds min, nanoseconds max) {
    nanoseconds least = nanoseconds::max(), most{0};
    for (int i = 0; i < 2000; ++i) {
      const nanoseconds time = draw();
      least = std::min(least, time);
      most = std::max(most, time);
    }
    EXPECT_EQ(least, min);
    EXPECT_EQ(most, max);
  };
  expect_range([&] { return chance.hop(); }, nanoseconds(10), nanoseconds(20));
  expect_range([&] { return chance.stall(); }, nanoseconds(100), nanoseconds(110));
  expect_range([&] { return chance.again(); }, nanoseconds(10), nanoseconds(40));
  expect_range([&] { return chance.notice(); }, nanoseconds(10), nanoseconds(60));
  EXPECT_EQ(chance.between(nanoseconds(5), nanoseconds(5)), nanoseconds(5));
  EXPECT_EQ(chance.between(nanoseconds(5), nanoseconds(1)), nanoseconds(5)) << "no range: the first bound";
}

TEST(SimulatedChance, AShareHappensAsOftenAsItSays) {
  Chance chance(7, options());
  int quarter = 0, always = 0, heads = 0;
  for (int i = 0; i < 4000; ++i) {
    quarter += chance.happens(0.25);
    always += chance.happens(1);
    heads += chance.coin();
  }
  EXPECT_NEAR(quarter, 1000, 150);
  EXPECT_EQ(always, 4000);
  EXPECT_NEAR(heads, 2000, 200);
}

TEST(SimulatedChance, AShareOfNothingDrawsNothing) {
  Chance one(7, options()), same(7, options());
  EXPECT_FALSE(one.happens(0));
  EXPECT_EQ(one.stall(), same.stall());
}

TEST(SimulatedChance, APathTakesTheTimeOfItsBytesAndOfWhatIsWrongWithIt) {
  Chance chance(7, options());
  Disturbance slow, lossy;
  slow.slower = 3;
  lossy.loss = 1;
  for (int i = 0; i < 200; ++i) {
    const nanoseconds free = chance.path_time(1000, nullptr);
    EXPECT_GE(free, nanoseconds(1010));
    EXPECT_LE(free, nanoseconds(1020));
    const nanoseconds slowed = chance.path_time(1000, &slow);
    EXPECT_GE(slowed, nanoseconds(3030));
    EXPECT_LE(slowed, nanoseconds(3060));
    const nanoseconds lost = chance.path_time(1000, &lossy);
    EXPECT_GE(lost, nanoseconds(1020));
    EXPECT_LE(lost, nanoseconds(1060));
  }
}

TEST(SimulatedChance, BoundsThatCannotBeAreABug) {
  SimulatedNetworkOptions turned = options(), standing = options();
  turned.delay_max = nanoseconds(9);
  standing.bandwidth = 0;
  EXPECT_DEATH(Chance(1, turned), "delay_max");
  EXPECT_DEATH(Chance(1, standing), "bandwidth");
}

}  // namespace
