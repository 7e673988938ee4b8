#include <gtest/gtest.h>

#include "cli/scaling/cost_fit.hpp"

namespace {

using namespace muster;

constexpr double kChunk = 512 * 1024;

// Every algorithm, 2 and 4 members on 2 cores, 4 KiB to 64 MiB, as `muster bench allreduce` measures them.
std::vector<MeasuredReduction> points(const CostTerms& truth) {
  std::vector<MeasuredReduction> all;
  for (const std::uint32_t members : {2u, 4u}) {
    for (double bytes = 4096; bytes <= 64 << 20; bytes *= 4) {
      for (const Algorithm algorithm : kAlgorithms) {
        MeasuredReduction point{algorithm, members, 2, bytes, 0};
        const CostTerms terms = terms_of(point, kChunk);
        for (std::size_t i = 0; i < kCostTerms; ++i) point.seconds += terms[i] * truth[i];
        all.push_back(point);
      }
    }
  }
  return all;
}

TEST(CostFit, FindsTheParametersBehindExactTimes) {
  const CostTerms truth{3e-6, 20e-6, 2e-6, 5e-11};
  const CostFit fit = fit_cost(points(truth), kChunk);
  for (std::size_t i = 0; i < kCostTerms; ++i) EXPECT_NEAR(fit.seconds[i] / truth[i], 1, 1e-6) << i;
  EXPECT_NEAR(fit.typical_factor, 1, 1e-6);
}

TEST(CostFit, LeavesOutWhatWouldBeNegative) {
  auto measured = points({0, 0, 2e-6, 5e-11});
  for (MeasuredReduction& point : measured) {
    if (point.members == 4) point.seconds *= 0.8;  // as if waiting took less than no time
  }
  const CostFit fit = fit_cost(measured, kChunk);
  for (const double value : fit.seconds) EXPECT_GE(value, 0);
  EXPECT_EQ(fit.seconds[1], 0);
  EXPECT_GT(fit.seconds[3], 3e-11);
}

// One point twice as long, one half as long: the fit does not lean to either.
TEST(CostFit, CountsTwiceAsLongLikeHalfAsLong) {
  MeasuredReduction point{Algorithm::direct, 2, 2, 1 << 20, 1e-3};
  std::vector<MeasuredReduction> two{point, point};
  two[0].seconds *= 2;
  two[1].seconds /= 2;
  const CostFit fit = fit_cost(two, kChunk);
  EXPECT_NEAR(predicted(fit, point, kChunk), 1e-3, 1e-9);
  EXPECT_NEAR(fit.typical_factor, 2, 1e-6);
}

TEST(CostFit, HasNoSwitchesWhereEveryMemberHasACore) {
  MeasuredReduction point{Algorithm::halving_doubling, 8, 8, 4096, 1};
  EXPECT_EQ(terms_of(point, kChunk)[0], 6);
  EXPECT_EQ(terms_of(point, kChunk)[1], 0);
  const double messages = terms_of(point, kChunk)[2];
  point.cores = 2;
  EXPECT_EQ(terms_of(point, kChunk)[1], 6);
  EXPECT_EQ(terms_of(point, kChunk)[2], 4 * messages);
}

TEST(CostFit, LeavesTheNetworkAlone) {
  CostFit fit;
  fit.seconds = {1, 2, 3, 4};
  const CostParameters before, after = with_fit(before, fit);
  EXPECT_EQ(after.latency_within_s, 1);
  EXPECT_EQ(after.overhead_s, 3);
  EXPECT_EQ(after.memory_s_per_byte, 4);
  EXPECT_EQ(after.latency_between_s, before.latency_between_s);
  EXPECT_EQ(after.wire_s_per_byte, before.wire_s_per_byte);
}

}  // namespace
