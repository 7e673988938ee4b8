#include "actors/pipeline/permutation.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace muster {
namespace {

std::vector<std::uint64_t> order(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch) {
  const Permutation permutation(n, seed, epoch);
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < n; ++i) out.push_back(permutation.at(i));
  return out;
}

void expect_bijection(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch) {
  const Permutation permutation(n, seed, epoch);
  std::vector<bool> seen(n, false);
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto value = permutation.at(i);
    ASSERT_LT(value, n);
    ASSERT_FALSE(seen[value]) << "n " << n << " position " << i;
    seen[value] = true;
  }
}

TEST(Permutation, IsABijectionForEverySmallSize) {
  for (std::uint64_t n = 0; n <= 300; ++n) {
    for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) expect_bijection(n, 7, epoch);
  }
}

TEST(Permutation, IsABijectionAroundPowersOfTwoAndForRealSizes) {
  for (int bits = 9; bits <= 14; ++bits) {
    const std::uint64_t power = std::uint64_t{1} << bits;
    for (const std::uint64_t n : {power - 1, power, power + 1}) expect_bijection(n, 11, 2);
  }
  for (const std::uint64_t n : {1237, 10'000, 60'000}) expect_bijection(n, 7, 1);
}

TEST(Permutation, HoldsAtTheLargestSizes) {
  for (const std::uint64_t n :
       {Permutation::kSizeMax, Permutation::kSizeMax - 1, (std::uint64_t{1} << 61) + 1}) {
    const Permutation permutation(n, 3, 9);
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < 1000; ++i) {
      const std::uint64_t position = i % 2 == 0 ? i : n - 1 - i;
      ASSERT_LT(permutation.at(position), n);
      ASSERT_TRUE(seen.insert(permutation.at(position)).second);
    }
  }
}

TEST(Permutation, DiffersByEpochAndBySeed) {
  EXPECT_EQ(order(1000, 7, 1), order(1000, 7, 1));
  EXPECT_NE(order(1000, 7, 1), order(1000, 7, 2));
  EXPECT_NE(order(1000, 7, 1), order(1000, 8, 1));
  EXPECT_NE(order(1000, 7, 2), order(1000, 8, 1));
}

TEST(Permutation, ReachesEveryOrderOfThree) {
  std::map<std::vector<std::uint64_t>, int> counts;
  for (std::uint64_t epoch = 0; epoch < 6000; ++epoch) ++counts[order(3, 5, epoch)];
  ASSERT_EQ(counts.size(), 6u);
  for (const auto& [key, count] : counts) EXPECT_NEAR(count, 1000, 200);
}

// Chi-square with 19 degrees of freedom is above 43.8 once in 1,000 draws. The seed is fixed: the result is
// too.
TEST(Permutation, PutsEachSampleAnywhereAlike) {
  constexpr int kSize = 20;
  constexpr int kEpochs = 20'000;
  for (const std::uint64_t position : {0, 7, 19}) {
    std::vector<double> counts(kSize, 0);
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      ++counts[Permutation(kSize, 42, static_cast<std::uint64_t>(epoch)).at(position)];
    }
    double chi_square = 0;
    const double expected = static_cast<double>(kEpochs) / kSize;
    for (const double count : counts) chi_square += (count - expected) * (count - expected) / expected;
    EXPECT_LT(chi_square, 43.8) << "position " << position;
  }
}

// Neighbors in the source do not stay neighbors: 2-dimensional chi-square of (at(i), at(i + 1)) on a grid
// of 16 x 16 cells. 255 degrees of freedom: above 330.5 once in 1,000 draws.
TEST(Permutation, PartsNeighbors) {
  constexpr std::uint64_t kSize = 60'000;
  const Permutation permutation(kSize, 7, 1);
  std::vector<double> counts(256, 0);
  for (std::uint64_t i = 0; i + 1 < kSize; i += 2) {
    ++counts[permutation.at(i) * 16 / kSize * 16 + permutation.at(i + 1) * 16 / kSize];
  }
  double chi_square = 0;
  const double expected = static_cast<double>(kSize / 2) / 256;
  for (const double count : counts) chi_square += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi_square, 330.5);
}

// The data order is part of what `weights_sha256` stands for. Whoever changes these numbers changes every
// run.
TEST(Permutation, HasThePinnedOrder) {
  EXPECT_EQ(order(10, 7, 1), (std::vector<std::uint64_t>{6, 9, 0, 1, 8, 2, 4, 5, 7, 3}));
  EXPECT_EQ(order(10, 7, 2), (std::vector<std::uint64_t>{6, 7, 4, 9, 5, 3, 0, 8, 1, 2}));
  const Permutation fashion(60'000, 7, 1);
  EXPECT_EQ((std::vector{fashion.at(0), fashion.at(1), fashion.at(59'999)}),
            (std::vector<std::uint64_t>{45971, 49557, 16937}));
  EXPECT_EQ(Permutation(Permutation::kSizeMax, 1, 1).at(0), 3394168180867192444u);
}

}  // namespace
}  // namespace muster
