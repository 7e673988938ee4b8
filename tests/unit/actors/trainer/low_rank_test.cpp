#include "actors/trainer/low_rank.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace muster {
namespace {

// A matrix of 6 x 4, a vector of 3, and a buffer of 2.
Layout layout() {
  Layout layout;
  layout.add_parameter("matrix", {6, 4});
  layout.add_parameter("vector", {3});
  layout.add_buffer("running", {2});
  return layout;
}

std::vector<float> counting(std::size_t count, float from) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), from);
  return values;
}

TEST(LowRank, AddsWhatWasLeftOutAndKeepsItForTheSecondSums) {
  LowRank low_rank(layout(), 2);
  low_rank.begin(7);
  const auto gradient = counting(low_rank.work().size(), 1);
  const std::vector<float> left_out(27, 0.5f);
  std::copy(gradient.begin(), gradient.end(), low_rank.work().begin());
  std::vector<float> copy(27), leaf(std::max(low_rank.first(), low_rank.second()) + 3, -1.0f);
  low_rank.project(left_out, copy, leaf);
  for (std::size_t i = 0; i < copy.size(); ++i) EXPECT_EQ(copy[i], gradient[i] + 0.5f) << i;
  for (std::size_t i = low_rank.first(); i < leaf.size(); ++i) EXPECT_EQ(leaf[i], 0.0f) << "no sum of these";

  std::vector<float> whole = gradient, q(27), expected(leaf.size(), -1.0f);
  for (std::size_t i = 0; i < 27; ++i) whole[i] += 0.5f;
  low_rank.algorithm().begin(7, q);
  low_rank.algorithm().project(whole, q, expected);
  EXPECT_TRUE(std::equal(leaf.begin(), leaf.begin() + static_cast<std::ptrdiff_t>(low_rank.first()),
                         expected.begin()));
}

TEST(LowRank, TheFirstSumsStayAsTheyAre) {
  LowRank low_rank(layout(), 2);
  low_rank.begin(7);
  const auto reduced = counting(low_rank.first() + low_rank.second(), 1);
  const auto before = reduced;
  const auto first = low_rank.orthonormal(reduced);
  EXPECT_EQ(reduced, before);
  EXPECT_FALSE(std::equal(first.begin(), first.end(), reduced.begin()));
  const auto mean = low_rank.mean(reduced);
  EXPECT_EQ(reduced, before);
  std::vector<float> expected(mean.size());
  low_rank.algorithm().change(first, std::span(reduced).subspan(low_rank.first()), expected);
  EXPECT_TRUE(std::equal(mean.begin(), mean.end(), expected.begin()));
}

TEST(LowRank, KeepsTheSecondSumsUntilItBeginsAnew) {
  LowRank low_rank(layout(), 2);
  low_rank.begin(7);
  const std::vector<float> at_first(low_rank.slot().values.begin(), low_rank.slot().values.end());
  EXPECT_EQ(low_rank.slot().name, "powersgd.q");
  low_rank.keep(counting(low_rank.first() + low_rank.second(), 1));
  EXPECT_FALSE(std::equal(at_first.begin(), at_first.end(), low_rank.slot().values.begin()));
  low_rank.begin(7);
  EXPECT_TRUE(std::equal(at_first.begin(), at_first.end(), low_rank.slot().values.begin()));
}

}  // namespace
}  // namespace muster
