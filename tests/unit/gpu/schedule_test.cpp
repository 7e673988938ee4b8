#include <gtest/gtest.h>

#include "gpu/optimizer/optimizer.hpp"
#include "gpu/optimizer/power.hpp"

namespace muster {
namespace {

using Kind = ScheduleOptions::Kind;

TEST(Schedule, ConstantIsConstant) {
  ScheduleOptions options;
  options.initial = 0.3;
  const auto schedule = make_schedule(options);
  EXPECT_EQ(schedule->rate(1), 0.3);
  EXPECT_EQ(schedule->rate(1'000'000'000), 0.3);
}

TEST(Schedule, WarmUpRisesToTheInitialRate) {
  ScheduleOptions options;
  options.kind = Kind::warm_up;
  options.initial = 0.8;
  options.warm_up = 4;
  const auto schedule = make_schedule(options);
  EXPECT_DOUBLE_EQ(schedule->rate(1), 0.2);
  EXPECT_DOUBLE_EQ(schedule->rate(3), 0.6);
  EXPECT_DOUBLE_EQ(schedule->rate(4), 0.8);
  EXPECT_DOUBLE_EQ(schedule->rate(5), 0.8);
}

TEST(Schedule, StepsFallAfterEveryFullRun) {
  ScheduleOptions options;
  options.kind = Kind::step;
  options.initial = 1.0;
  options.every = 10;
  options.factor = 0.5;
  const auto schedule = make_schedule(options);
  EXPECT_DOUBLE_EQ(schedule->rate(1), 1.0);
  EXPECT_DOUBLE_EQ(schedule->rate(10), 1.0);
  EXPECT_DOUBLE_EQ(schedule->rate(11), 0.5);
  EXPECT_DOUBLE_EQ(schedule->rate(31), 0.125);
}

TEST(Schedule, CosineGoesFromInitialToFinal) {
  ScheduleOptions options;
  options.kind = Kind::cosine;
  options.initial = 1.0;
  options.final_rate = 0.2;
  options.warm_up = 10;
  options.steps = 110;
  const auto schedule = make_schedule(options);
  EXPECT_DOUBLE_EQ(schedule->rate(5), 0.5);
  EXPECT_DOUBLE_EQ(schedule->rate(10), 1.0);
  EXPECT_NEAR(schedule->rate(60), 0.6, 1e-12);
  EXPECT_DOUBLE_EQ(schedule->rate(110), 0.2);
  EXPECT_DOUBLE_EQ(schedule->rate(1000), 0.2);
  for (std::uint64_t step = 10; step < 110; ++step) EXPECT_GT(schedule->rate(step), schedule->rate(step + 1));
}

TEST(Power, IsExactWhereDoublesAre) {
  EXPECT_EQ(power(0.5, 0), 1.0);
  EXPECT_EQ(power(0.5, 10), 1.0 / 1024);
  EXPECT_EQ(power(3.0, 5), 243.0);
  EXPECT_EQ(power(0.9, ~0ULL), 0.0);
}

}  // namespace
}  // namespace muster
