#include "gpu/optimizer/powersgd.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/random_values.hpp"

namespace muster {
namespace {

using oracle::RandomValues;

Layout layout_of() {
  Layout layout;
  layout.add_parameter("a", {12, 3, 10});  // a matrix of 12 times 30
  layout.add_parameter("bias", {12});
  layout.add_parameter("small", {2, 3});  // two thin ones would not be smaller
  layout.add_parameter("b", {20, 33});
  layout.add_buffer("mean", {5});
  return layout;
}

std::vector<float> values(RandomValues& random, std::size_t count) {
  std::vector<float> all(count);
  for (float& value : all) value = static_cast<float>(random.below(2001)) / 1000.0f - 1.0f;
  return all;
}

/// One shard's step.
struct Step {
  std::vector<float> first, second, left, change;
};

Step step_of(const PowerSgd& powersgd, const Layout& layout, const std::vector<float>& gradient,
             std::vector<float>& q) {
  Step step;
  step.first.resize(powersgd.first());
  step.second.resize(powersgd.second());
  step.change.resize(layout.total());
  powersgd.project(gradient, q, step.first);
  powersgd.orthonormalize(step.first);
  step.left.assign(gradient.begin(), gradient.begin() + static_cast<long>(layout.parameters));
  powersgd.project_back(step.left, step.first, step.second);
  powersgd.leave(step.first, step.second, step.left);
  powersgd.change(step.first, step.second, step.change);
  powersgd.keep(step.second, q);
  return step;
}

double length(const float* begin, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(begin[i]) * begin[i];
  return std::sqrt(sum);
}

TEST(PowerSgd, OnlyMatricesThatBecomeSmallerAreApproximated) {
  const PowerSgd powersgd(layout_of(), 2);
  EXPECT_EQ(powersgd.first(), 2u * (12 + 20) + 12 + 6 + 5);
  EXPECT_EQ(powersgd.second(), 2u * (30 + 33));
  const PowerSgd all(layout_of(), 100);
  EXPECT_EQ(all.second(), 0u);
  EXPECT_EQ(all.first(), layout_of().total());
}

TEST(PowerSgd, WhatIsAppliedAndWhatIsLeftAreTheGradient) {
  const Layout layout = layout_of();
  const PowerSgd powersgd(layout, 3);
  RandomValues random(8);
  std::vector<float> q(layout.parameters);
  powersgd.begin(7, q);
  for (int turn = 0; turn < 20; ++turn) {
    const auto gradient = values(random, layout.total());
    const Step step = step_of(powersgd, layout, gradient, q);
    for (std::size_t i = 0; i < layout.parameters; ++i)
      ASSERT_NEAR(step.change[i] + step.left[i], gradient[i], 1e-5) << i;
    for (std::size_t i = layout.parameters; i < layout.total(); ++i) ASSERT_EQ(step.change[i], gradient[i]);
    const std::size_t bias = layout.entries[1].offset;
    for (std::size_t i = bias; i < bias + 12 + 6; ++i) {
      ASSERT_EQ(step.change[i], gradient[i]);
      ASSERT_EQ(step.left[i], 0);
    }
    EXPECT_LT(length(step.left.data(), 360), length(gradient.data(), 360))
        << "a projection takes something away";
  }
}

// A matrix of low rank is met whole, and again and again the same one is met better.
TEST(PowerSgd, FollowsTheStrongestDirections) {
  Layout layout;
  layout.add_parameter("m", {40, 50});
  RandomValues random(4);
  const auto u = values(random, 2 * 40), v = values(random, 2 * 50), noise = values(random, 2000);
  std::vector<float> exact(2000), noisy(2000);
  for (std::size_t row = 0; row < 40; ++row) {
    for (std::size_t column = 0; column < 50; ++column) {
      const std::size_t at = row * 50 + column;
      exact[at] = 3 * u[row] * v[column] + u[40 + row] * v[50 + column];
      noisy[at] = exact[at] + 0.05f * noise[at];
    }
  }
  const PowerSgd powersgd(layout, 2);
  std::vector<float> q(2000);
  powersgd.begin(1, q);
  EXPECT_LT(length(step_of(powersgd, layout, exact, q).left.data(), 2000), 1e-4 * length(exact.data(), 2000));
  powersgd.begin(1, q);
  const double once = length(step_of(powersgd, layout, noisy, q).left.data(), 2000);
  double last = once;
  for (int turn = 0; turn < 5; ++turn) last = length(step_of(powersgd, layout, noisy, q).left.data(), 2000);
  EXPECT_LE(last, once);
  EXPECT_LT(last, 1.1 * 0.05 * length(noise.data(), 2000));
}

TEST(PowerSgd, ColumnsBecomeOrthonormalOrZero) {
  Layout layout;
  layout.add_parameter("m", {9, 30});
  const PowerSgd powersgd(layout, 3);
  RandomValues random(2);
  std::vector<float> first = values(random, powersgd.first());
  std::copy_n(first.begin(), 9, first.begin() + 18);  // the third column is the first once more
  powersgd.orthonormalize(first);
  EXPECT_NEAR(length(first.data(), 9), 1, 1e-6);
  EXPECT_NEAR(length(first.data() + 9, 9), 1, 1e-6);
  EXPECT_EQ(length(first.data() + 18, 9), 0) << "rounding is no direction";
  double dot = 0;
  for (std::size_t i = 0; i < 9; ++i) dot += static_cast<double>(first[i]) * first[9 + i];
  EXPECT_NEAR(dot, 0, 1e-6);
  std::vector<float> broken(powersgd.first(), std::nanf(""));
  powersgd.orthonormalize(broken);
  EXPECT_TRUE(std::isnan(broken[0])) << "NaN is not hidden";
  std::vector<float> none(powersgd.first());
  powersgd.orthonormalize(none);
  EXPECT_EQ(length(none.data(), none.size()), 0);
}

TEST(PowerSgd, BeginsInTheSameWayWithTheSameSeed) {
  const Layout layout = layout_of();
  const PowerSgd powersgd(layout, 2);
  std::vector<float> one(layout.parameters, 5.0f), same(layout.parameters), other(layout.parameters);
  powersgd.begin(3, one);
  powersgd.begin(3, same);
  powersgd.begin(4, other);
  EXPECT_EQ(one, same);
  EXPECT_NE(one, other);
}

}  // namespace
}  // namespace muster
