#include <gtest/gtest.h>

#include <cmath>

#include "gpu/analytic/empty.hpp"
#include "gpu/analytic/linear.hpp"
#include "muster/error.hpp"
#include "tests/unit/gpu/batches.hpp"

namespace muster {
namespace {

using testing_support::random_floats;

std::unique_ptr<Model> linear(std::int64_t inputs, std::int64_t outputs) {
  return make_linear({{"inputs", inputs}, {"outputs", outputs}}, {});
}

Batch pairs(std::uint32_t rows, std::int64_t inputs, std::int64_t outputs, std::uint32_t padding = 0) {
  const std::int64_t all = rows + padding;
  return Batch{rows, padding, {random_floats({all, inputs}, 1), random_floats({all, outputs}, 2)}};
}

TEST(LayoutDeathTest, ParametersComeBeforeBuffers) {
  Layout layout;
  layout.add_parameter("w", {2, 3});
  layout.add_parameter("b", {});
  layout.add_buffer("mean", {4});
  EXPECT_EQ(layout.parameters, 7U);
  EXPECT_EQ(layout.buffers, 4U);
  EXPECT_EQ(layout.entries[1].offset, 6U);
  EXPECT_EQ(layout.entries[2].offset, 7U);
  EXPECT_DEATH(layout.add_parameter("late", {1}), "check failed");
}

TEST(Linear, ByHand) {
  const auto model = linear(1, 1);
  Batch batch{1, 0, {random_floats({1, 1}, 1), random_floats({1, 1}, 1)}};
  batch.tensors[0].as<float>()[0] = 3.0F;
  batch.tensors[1].as<float>()[0] = 5.0F;
  const std::vector<float> state{2.0F, 1.0F};  // 2 * 3 + 1 = 7, two too many
  std::vector<float> gradient(2);
  const Metrics metrics = model->gradient(state, batch, {}, gradient);
  EXPECT_EQ(metrics.loss, 4.0);
  EXPECT_EQ(gradient, (std::vector<float>{12.0F, 4.0F}));
  EXPECT_EQ(model->evaluate(state, batch).loss, 4.0);
}

TEST(Linear, GradientIsTheDerivativeOfTheLoss) {
  const auto model = linear(5, 3);
  std::vector<float> state(model->layout().total()), gradient(state.size());
  model->initialize(11, state);
  const Batch batch = pairs(7, 5, 3);
  model->gradient(state, batch, {}, gradient);
  for (std::size_t i = 0; i < state.size(); ++i) {
    constexpr float kDelta = 1.0F / 128;
    auto up = state, down = state;
    up[i] += kDelta;
    down[i] -= kDelta;
    const double grad =
        (model->evaluate(up, batch).loss - model->evaluate(down, batch).loss) / (up[i] - down[i]);
    EXPECT_NEAR(gradient[i], grad, 1e-3 * std::max(1.0, std::abs(grad))) << "element " << i;
  }
}

TEST(Linear, PaddingChangesNothing) {
  const auto model = linear(4, 2);
  std::vector<float> state(model->layout().total()), bare(state.size()), padded(state.size());
  model->initialize(1, state);
  const Metrics one = model->gradient(state, pairs(5, 4, 2), {}, bare);
  const Metrics two = model->gradient(state, pairs(5, 4, 2, 3), {}, padded);
  EXPECT_EQ(bare, padded);
  EXPECT_EQ(one.loss, two.loss);
  EXPECT_EQ(model->weight(pairs(5, 4, 2, 3)), 5.0);
}

TEST(Linear, TheInitialStateIsAFunctionOfTheSeed) {
  std::vector<float> one(12), two(12), other(12);
  linear(3, 3)->initialize(7, one);
  linear(3, 3)->initialize(7, two);
  linear(3, 3)->initialize(8, other);
  EXPECT_EQ(one, two);
  EXPECT_NE(one, other);
  for (const float value : one) EXPECT_LE(std::abs(value), 0.57735026F);
}

TEST(Linear, ABatchThatDoesNotFitIsRefused) {
  const auto model = linear(4, 2);
  std::vector<float> state(model->layout().total()), gradient(state.size());
  EXPECT_THROW(model->gradient(state, pairs(5, 3, 2), {}, gradient), Error);
  EXPECT_THROW(model->evaluate(state, Batch{1, 0, {}}), Error);
}

TEST(Linear, ABatchThatDoesNotFitIsAboutTheOptionThatIsWrong) {
  const auto model = linear(50, 2);
  const auto said = [&](const Batch& batch) {
    try {
      model->check_batch(batch);
    } catch (const JobError& error) {
      return error.key() + ": " + error.what();
    }
    return std::string();
  };
  EXPECT_EQ(said(pairs(5, 50, 2, 3)), "");
  EXPECT_EQ(said(pairs(5, 4, 2, 3)),
            "model.inputs: model linear takes 50 numbers in field 0 of a sample, the source gives 4");
  EXPECT_EQ(said(pairs(5, 50, 1)),
            "model.outputs: model linear takes 2 numbers in field 1 of a sample, the source gives 1");
  Batch labels = pairs(5, 50, 2);
  labels.tensors[1].dtype = DType::int64;
  EXPECT_EQ(said(labels).find("data.source: model linear takes samples of two float32 fields"), 0U);
}

TEST(SplitMix, IsTheReference) {
  // The first outputs of the reference implementation for seed 1234567.
  SplitMix64 random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317ULL);
  EXPECT_EQ(random.next(), 3203168211198807973ULL);
  EXPECT_NE(mix(1, 2, 3), mix(1, 3, 2));
}

TEST(Empty, GradientsAreSmallWholeNumbersOfStepShardAndElement) {
  const auto model = make_empty({{"parameters", std::int64_t{200}}}, {});
  std::vector<float> state(200, 1.0F), one(200), two(200);
  model->initialize(5, state);
  EXPECT_EQ(state, std::vector<float>(200, 0.0F));
  Batch batch;
  batch.rows = 1;
  model->gradient(state, batch, {.seed = 1, .epoch = 1, .step = 3, .shard = 2}, one);
  for (const float value : one) {
    EXPECT_EQ(value, std::floor(value));
    EXPECT_LE(std::abs(value), 32.0F);
  }
  model->gradient(state, batch, {.seed = 9, .epoch = 2, .step = 3, .shard = 2}, two);
  EXPECT_EQ(one, two);
  model->gradient(state, batch, {.seed = 1, .epoch = 1, .step = 3, .shard = 1}, two);
  EXPECT_NE(one, two);
  batch.rows = 3;
  model->gradient(state, batch, {.seed = 1, .epoch = 1, .step = 3, .shard = 2}, two);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(two[i], 3 * one[i]) << "a sum over samples";
}

}  // namespace
}  // namespace muster
