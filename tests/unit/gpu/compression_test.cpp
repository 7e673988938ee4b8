#include "gpu/optimizer/compression.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

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

// Against sorting, bit for bit.
void expect_what_sorting_says(std::vector<float> gradient, const std::vector<float>& left_out, double ratio) {
  const std::size_t count = gradient.size();
  std::vector<float> all(count), kept(count), rest(count), next(count, 7);
  for (std::size_t i = 0; i < count; ++i) all[i] = gradient[i] + left_out[i];
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  const auto magnitude = [&](std::size_t i) { return std::bit_cast<std::uint32_t>(std::fabs(all[i])); };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return magnitude(a) > magnitude(b); });
  TopK compressor(count, ratio);
  for (std::size_t place = 0; place < count; ++place)
    (place < compressor.kept() ? kept : rest)[order[place]] = all[order[place]];
  compressor.compress(gradient, left_out, next);
  ASSERT_EQ(bits_of(gradient), bits_of(kept));
  ASSERT_EQ(bits_of(next), bits_of(rest));
}

void expect_what_sorting_says(const std::vector<float>& gradient) {
  for (const double ratio : {0.0001, 0.01, 0.1, 0.3, 0.9})
    expect_what_sorting_says(gradient, std::vector<float>(gradient.size()), ratio);
}

// Values of many sizes, with equal ones and zeros of both signs.
TEST(TopK, IsWhatSortingSays) {
  RandomValues random(5);
  for (int turn = 0; turn < 300; ++turn) {
    SCOPED_TRACE("turn " + std::to_string(turn));
    const std::size_t count = 1 + random.below(turn < 280 ? 200 : 100000);
    const double ratio = 0.001 * static_cast<double>(1 + random.below(turn % 2 ? 1000 : 100));
    std::vector<float> gradient = random.values(count), left_out = random.values(count);
    if (random.chance(50)) {
      for (float& value : gradient) value = static_cast<float>(random.below(3)) - 1;
      std::fill(left_out.begin(), left_out.end(), 0.0f);
    }
    expect_what_sorting_says(gradient, left_out, ratio);
  }
}

TEST(TopK, IsWhatSortingSaysAtTheEndsOfBlocks) {
  RandomValues random(6);
  for (const std::size_t blocks : {1, 2, 63, 64, 65, 128, 1000})
    for (const std::size_t more : {-1, 0, 1}) {
      const std::size_t count = 16 * blocks + more;
      SCOPED_TRACE(count);
      expect_what_sorting_says(random.values(count), random.values(count), 0.01);
    }
}

// The sample is of 16 elements of each 61 * 16: what holds of them need not hold of the others.
struct Sampled {
  static constexpr std::size_t kElements = 200000;
  static bool is(std::size_t i) { return i % (61 * 16) < 16; }
  static std::vector<float> gradient(float in_sample, float beside) {
    RandomValues random(7);
    std::vector<float> values(kElements);
    for (std::size_t i = 0; i < kElements; ++i)
      values[i] = (is(i) ? in_sample : beside) * (1 + 0.001f * static_cast<float>(random.below(1000)));
    return values;
  }
};

TEST(TopK, OnlyTheSampleIsLarge) {
  expect_what_sorting_says(Sampled::gradient(100, -1));
}

TEST(TopK, OnlyTheSampleIsSmall) {
  expect_what_sorting_says(Sampled::gradient(-1, 100));
}

TEST(TopK, OnlyTheSampleIsZero) {
  expect_what_sorting_says(Sampled::gradient(-0.0f, 1));
}

TEST(TopK, OnlyTheSampleIsNotZero) {
  expect_what_sorting_says(Sampled::gradient(-1, -0.0f));
}

TEST(TopK, AllAreEqual) {
  for (const float value :
       {0.0f, -0.0f, 1.0f, -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(),
        std::numeric_limits<float>::denorm_min()})
    expect_what_sorting_says(std::vector<float>(Sampled::kElements, value));
}

TEST(TopK, WhatIsNoNumberInTheSample) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  RandomValues random(8);
  for (const float value : {nan, infinity, -infinity})
    for (const std::uint64_t in_hundred : {1, 50, 100}) {
      std::vector<float> gradient = Sampled::gradient(1, 1);
      for (std::size_t i = 0; i < gradient.size(); ++i)
        if (Sampled::is(i) && random.chance(in_hundred)) gradient[i] = value;
      gradient[gradient.size() - 1] = nan;
      expect_what_sorting_says(gradient);
    }
}

// A few are not zero, as in a layer of which most is not used.
TEST(TopK, MostAreZero) {
  RandomValues random(9);
  std::vector<float> gradient(Sampled::kElements);
  for (float& value : gradient)
    if (random.chance(2)) value = random.value();
  expect_what_sorting_says(gradient);
}

}  // namespace
}  // namespace muster
