#include "muster/gpu/compression.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/support/random_values.hpp"

namespace muster {
namespace {

using oracle::RandomValues;

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

TEST(TopK, KeepsAShareRoundedUpAndAtLeastOne) {
  EXPECT_EQ(TopK(1000, 0.01).kept(), 10u);
  EXPECT_EQ(TopK(1001, 0.01).kept(), 11u);
  EXPECT_EQ(TopK(7, 0.0001).kept(), 1u);
  EXPECT_EQ(TopK(7, 1).kept(), 7u);
  EXPECT_EQ(TopK(0, 0.5).kept(), 0u);
}

TEST(TopK, OfEqualOnesThoseInFrontAreKept) {
  TopK compressor(6, 0.5);
  std::vector<float> gradient{1, -2, 2, 2, -2, 3}, next(6);
  compressor.compress(gradient, std::vector<float>(6), next);
  EXPECT_EQ(gradient, (std::vector<float>{0, -2, 2, 0, 0, 3}));
  EXPECT_EQ(next, (std::vector<float>{1, 0, 0, 2, -2, 0}));
}

TEST(TopK, WhatWasLeftOutComesBack) {
  TopK compressor(2, 0.5);
  std::vector<float> left_out(2), next(2), sum(2);
  for (int step = 0; step < 10; ++step) {
    std::vector<float> gradient{3, 2};
    compressor.compress(gradient, left_out, next);
    for (std::size_t i = 0; i < 2; ++i) sum[i] += gradient[i];
    left_out.swap(next);
  }
  EXPECT_EQ(sum[0] + left_out[0], 30);
  EXPECT_EQ(sum[1] + left_out[1], 20);
  EXPECT_GT(sum[1], 10) << "the smaller one has its turns, too";
}

TEST(TopK, WhatIsNoNumberIsNotHidden) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  TopK compressor(4, 0.25);
  std::vector<float> gradient{1, infinity, nan, 5}, next(4);
  compressor.compress(gradient, std::vector<float>(4), next);
  EXPECT_TRUE(std::isnan(gradient[2]));
  EXPECT_EQ(gradient[1], 0);
  EXPECT_EQ(next[1], infinity);
}

// Against sorting, bit for bit; values of many sizes, with equal ones and zeros of both signs.
TEST(TopK, IsWhatSortingSays) {
  RandomValues random(5);
  for (int turn = 0; turn < 300; ++turn) {
    const std::size_t count = 1 + random.below(turn < 280 ? 200 : 100000);
    const double ratio = 0.001 * static_cast<double>(1 + random.below(1000));
    std::vector<float> gradient = random.values(count), left_out = random.values(count), next(count);
    if (random.chance(50)) {
      for (float& value : gradient) value = static_cast<float>(random.below(3)) - 1;
      std::fill(left_out.begin(), left_out.end(), 0.0f);
    }
    std::vector<float> all(count), kept(count), rest(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = gradient[i] + left_out[i];
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return std::fabs(all[a]) > std::fabs(all[b]); });
    TopK compressor(count, ratio);
    for (std::size_t place = 0; place < count; ++place)
      (place < compressor.kept() ? kept : rest)[order[place]] = all[order[place]];
    compressor.compress(gradient, left_out, next);
    ASSERT_EQ(bits_of(gradient), bits_of(kept)) << "turn " << turn;
    ASSERT_EQ(bits_of(next), bits_of(rest)) << "turn " << turn;
  }
}

}  // namespace
}  // namespace muster
