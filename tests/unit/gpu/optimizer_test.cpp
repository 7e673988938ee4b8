#include "gpu/optimizer/optimizer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "muster/random.hpp"

namespace muster {
namespace {

using Four = std::array<float, 4>;

std::shared_ptr<const Schedule> constant(double rate) {
  ScheduleOptions options;
  options.initial = rate;
  return make_schedule(options);
}

/// Three steps from (1, -2, 0.5, 0) with the gradients (t/2, -1/4, 3/2 - t, 1/1000).
Four three_steps(Optimizer& optimizer) {
  Four parameters{1.0F, -2.0F, 0.5F, 0.0F};
  for (std::uint64_t t = 1; t <= 3; ++t) {
    const auto x = static_cast<float>(t);
    const Four gradient{0.5F * x, -0.25F, 1.5F - x, 0.001F};
    optimizer.update(t, parameters, gradient);
  }
  return parameters;
}

void expect_near(const Four& found, const Four& expected) {
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-6 * std::max(1.0F, std::abs(expected[i]))) << "element " << i;
}

// The expected numbers are those of torch.optim in PyTorch 1.13.
TEST(Optimizer, PlainSgdIsPyTorchs) {
  const auto sgd = make_sgd({}, constant(0.1), 4);
  EXPECT_TRUE(sgd->slots().empty());
  expect_near(three_steps(*sgd), {0.699999988F, -1.92500007F, 0.649999976F, -0.000300000014F});
}

TEST(Optimizer, MomentumAndDecayArePyTorchs) {
  const auto sgd = make_sgd({.momentum = 0.9, .nesterov = false, .weight_decay = 0.01}, constant(0.1), 4);
  expect_near(three_steps(*sgd), {0.519184768F, -1.84865963F, 0.606837332F, -0.0005605201F});
  ASSERT_EQ(sgd->slots().size(), 1U);
  EXPECT_EQ(sgd->slots()[0].name, "momentum");
  EXPECT_EQ(sgd->slots()[0].values.size(), 4U);
}

TEST(Optimizer, NesterovIsPyTorchs) {
  const auto sgd = make_sgd({.momentum = 0.9, .nesterov = true, .weight_decay = 0.01}, constant(0.1), 4);
  expect_near(three_steps(*sgd), {0.264890462F, -1.78305221F, 0.74486649F, -0.000803509902F});
}

TEST(Optimizer, AdamIsPyTorchs) {
  AdamOptions options;
  options.weight_decay = 0.01;
  const auto adam = make_adam(options, constant(0.1), 4);
  expect_near(three_steps(*adam), {0.70745331F, -1.70003617F, 0.463557243F, -0.174437419F});
}

TEST(Optimizer, AdamWIsPyTorchs) {
  AdamOptions options;
  options.weight_decay = 0.01;
  options.decoupled = true;
  const auto adam = make_adam(options, constant(0.1), 4);
  expect_near(three_steps(*adam), {0.704981148F, -1.6943059F, 0.463483781F, -0.299697101F});
  ASSERT_EQ(adam->slots().size(), 2U);
  EXPECT_EQ(adam->slots()[0].name, "exp_avg");
  EXPECT_EQ(adam->slots()[1].name, "exp_avg_sq");
}

std::vector<float> numbers(std::uint64_t seed, std::size_t count) {
  SplitMix64 random(seed);
  std::vector<float> values(count);
  for (auto& value : values) value = random.next_signed_unit();
  return values;
}

using Make = std::unique_ptr<Optimizer> (*)(std::size_t);

std::unique_ptr<Optimizer> nesterov(std::size_t count) {
  return make_sgd({.momentum = 0.9, .nesterov = true, .weight_decay = 1e-3}, constant(0.05), count);
}

std::unique_ptr<Optimizer> adamw(std::size_t count) {
  AdamOptions options;
  options.weight_decay = 0.01;
  options.decoupled = true;
  return make_adam(options, constant(0.05), count);
}

class OptimizerBits : public ::testing::TestWithParam<Make> {};

TEST_P(OptimizerBits, DoNotDependOnWhereTheVectorIsCut) {
  constexpr std::size_t kCount = 1003;
  auto whole = numbers(1, kCount);
  auto cut = whole;
  const auto one = GetParam()(kCount);
  constexpr std::array<std::size_t, 5> kCuts{0, 1, 18, 531, kCount};
  std::vector<std::unique_ptr<Optimizer>> parts;
  for (std::size_t p = 0; p + 1 < kCuts.size(); ++p) parts.push_back(GetParam()(kCuts[p + 1] - kCuts[p]));
  for (std::uint64_t step = 1; step <= 5; ++step) {
    const auto gradient = numbers(100 + step, kCount);
    one->update(step, whole, gradient);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const std::size_t size = kCuts[p + 1] - kCuts[p];
      parts[p]->update(step, std::span(cut).subspan(kCuts[p], size),
                       std::span(gradient).subspan(kCuts[p], size));
    }
  }
  for (std::size_t i = 0; i < kCount; ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(whole[i]), std::bit_cast<std::uint32_t>(cut[i]))
        << "element " << i;
}

TEST_P(OptimizerBits, WhatIsForetoldIsWhatTheUpdateMakes) {
  constexpr std::size_t kCount = 103;
  auto updated = numbers(1, kCount);
  const auto optimizer = GetParam()(kCount);
  for (std::uint64_t step = 1; step <= 3; ++step) {
    auto foretold = updated;
    const auto gradient = numbers(100 + step, kCount), another = numbers(200 + step, kCount);
    auto ignored = updated;
    optimizer->foretell(step, 0, ignored, another);  // nothing of it stays
    optimizer->foretell(step, 0, std::span(foretold).first(40), std::span(gradient).first(40));
    optimizer->foretell(step, 40, std::span(foretold).subspan(40), std::span(gradient).subspan(40));
    optimizer->update(step, 0, std::span(updated).first(50), std::span(gradient).first(50));
    optimizer->update(step, 50, std::span(updated).subspan(50), std::span(gradient).subspan(50));
    ASSERT_EQ(foretold, updated);
  }
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerBits, ::testing::Values(&nesterov, &adamw));

TEST(Optimizer, AdamFollowsTheTextbookInDouble) {
  constexpr std::size_t kCount = 64;
  auto parameters = numbers(3, kCount);
  std::vector<double> weights(parameters.begin(), parameters.end()), m(kCount), v(kCount);
  const auto adam = make_adam({}, constant(0.01), kCount);
  for (std::uint64_t step = 1; step <= 20; ++step) {
    const auto gradient = numbers(50 + step, kCount);
    adam->update(step, parameters, gradient);
    for (std::size_t i = 0; i < kCount; ++i) {
      const double g = gradient[i];
      m[i] = 0.9 * m[i] + 0.1 * g;
      v[i] = 0.999 * v[i] + 0.001 * g * g;
      const double mean = m[i] / (1 - std::pow(0.9, step));
      const double variance = v[i] / (1 - std::pow(0.999, step));
      weights[i] -= 0.01 * mean / (std::sqrt(variance) + 1e-8);
    }
  }
  for (std::size_t i = 0; i < kCount; ++i) EXPECT_NEAR(parameters[i], weights[i], 2e-6);
}

TEST(OptimizerDeathTest, OtherSizesAreABug) {
  const auto sgd = make_sgd({}, constant(0.1), 4);
  std::vector<float> three(3), four(4), five(5);
  EXPECT_DEATH(sgd->update(1, five, five), "check failed");
  EXPECT_DEATH(sgd->update(1, four, three), "check failed");
  EXPECT_DEATH(sgd->update(1, 2, three, three), "check failed");
  EXPECT_DEATH(sgd->update(0, four, four), "check failed");
}

}  // namespace
}  // namespace muster
