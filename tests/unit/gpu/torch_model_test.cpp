// The libtorch back end: bits that depend on nothing but the arguments, and gradients that match central
// differences.
#ifdef MUSTER_WITH_TORCH
#include "muster/torch_model.hpp"

#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "gpu/models/builtin.hpp"
#include "muster/error.hpp"
#include "tests/unit/gpu/torch_models.hpp"

namespace muster {
namespace {

using testing_support::classified;
using testing_support::gradient_of;
using testing_support::initial;
using testing_support::same_bits;

std::unique_ptr<Model> fashion_cnn() {
  return make_fashion_cnn({}, {});
}

std::unique_ptr<Model> mlp(std::vector<std::int64_t> sizes) {
  return make_mlp({{"sizes", std::move(sizes)}}, {});
}

Batch images(std::uint32_t rows, std::uint64_t seed, std::uint32_t padding = 0) {
  return classified(rows, {1, 28, 28}, 10, seed, padding);
}

/// Normalization over the batch, then dropout on request: buffers and randomness in one small module.
struct Normed : torch::nn::Module {
  explicit Normed(double drop) : dropout(drop) {
    register_module("linear1", linear1);
    register_module("norm", norm);
    if (drop > 0) register_module("dropout", dropout);
    register_module("linear2", linear2);
  }
  torch::Tensor forward(const torch::Tensor& x) {
    auto y = norm->forward(linear1->forward(x)).relu();
    if (dropout->options.p() > 0) y = dropout->forward(y);
    return linear2->forward(y);
  }
  torch::nn::Linear linear1{6, 8};
  torch::nn::BatchNorm1d norm{8};
  torch::nn::Dropout dropout;
  torch::nn::Linear linear2{8, 3};
};

std::unique_ptr<Model> normed(double drop = 0) {
  return make_torch_model([drop] { return torch_module(std::make_shared<Normed>(drop)); },
                          TorchLoss::cross_entropy, {});
}

/// Derivatives of the summed loss by central differences, along single elements, against the gradient.
void expect_derivatives(Model& model, const Batch& batch, std::span<const std::size_t> elements) {
  const auto state = initial(model);
  const auto gradient = gradient_of(model, state, batch);
  for (const auto i : elements) {
    auto up = state, down = state;
    up[i] += 4e-3F;
    down[i] -= 4e-3F;
    const double grad = (model.evaluate(up, batch).loss - model.evaluate(down, batch).loss) /
                        (double{up[i]} - double{down[i]});
    EXPECT_NEAR(gradient[i], grad, 0.02 + 0.05 * std::abs(grad)) << "element " << i;
  }
}

TEST(FashionCnn, HasTheDeclaredParameters) {
  const auto model = fashion_cnn();
  const Layout& layout = model->layout();
  EXPECT_EQ(layout.parameters, 421642U);
  EXPECT_EQ(layout.buffers, 0U);
  ASSERT_EQ(layout.entries.size(), 8U);
  EXPECT_EQ(layout.entries[0].name, "conv1.weight");
  EXPECT_EQ(layout.entries[0].shape, (std::vector<std::int64_t>{32, 1, 3, 3}));
  EXPECT_EQ(layout.entries[4].name, "linear1.weight");
  EXPECT_FALSE(model->mixes_samples());
}

TEST(Mlp, SizesAreOptions) {
  EXPECT_EQ(mlp({784, 128, 10})->layout().parameters, 101770U);
  EXPECT_EQ(mlp({4, 3})->layout().parameters, 15U);
  EXPECT_THROW(mlp({784}), JobError);
}

TEST(TorchModel, InitialStateIsAFunctionOfTheSeed) {
  const auto one = fashion_cnn();
  const auto two = fashion_cnn();
  const auto state = initial(*one, 3);
  gradient_of(*two, initial(*two, 9), images(4, 1));
  EXPECT_TRUE(same_bits(state, initial(*two, 3)));
  EXPECT_FALSE(same_bits(state, initial(*two, 4)));
}

TEST(TorchModel, BitsDoNotDependOnWhatWasComputedBefore) {
  const auto model = fashion_cnn();
  const auto state = initial(*model);
  const auto first = gradient_of(*model, state, images(16, 1));
  const auto second = gradient_of(*model, state, images(5, 2));
  model->evaluate(state, images(32, 3));
  EXPECT_TRUE(same_bits(second, gradient_of(*model, state, images(5, 2))));
  EXPECT_TRUE(same_bits(first, gradient_of(*model, state, images(16, 1))));
  EXPECT_TRUE(same_bits(first, gradient_of(*fashion_cnn(), state, images(16, 1))));
}

/// What a model says of its parts: each is final when it is said, all of them are said, each once.
std::vector<std::size_t> said_by(Model& model, const Batch& batch) {
  const auto state = initial(model);
  const auto expected = gradient_of(model, state, batch);
  std::vector<float> gradient(state.size(), std::nanf(""));
  std::vector<std::size_t> order;
  std::size_t said = 0;
  model.gradient_in_parts(state, batch, {}, gradient, [&](std::size_t begin, std::size_t count) {
    EXPECT_TRUE(
        same_bits(std::span(gradient).subspan(begin, count), std::span(expected).subspan(begin, count)));
    order.push_back(begin);
    said += count;
  });
  EXPECT_EQ(said, state.size());
  EXPECT_TRUE(same_bits(gradient, expected));
  return order;
}

TEST(TorchModel, SaysPartsOfTheGradientWhileTheBackwardPassGoesOn) {
  const auto model = fashion_cnn();
  const auto order = said_by(*model, images(8, 1));
  const auto& entries = model->layout().entries;
  ASSERT_EQ(order.size(), 1 + entries.size());  // the buffers, of which it has none, come first
  const auto place = [&](std::size_t entry) {
    return std::find(order.begin() + 1, order.end(), entries[entry].offset);
  };
  EXPECT_LT(place(7), place(4));  // the last layer's bias before the first linear weight
  EXPECT_LT(place(4), place(0));  // and that before the first convolution
}

TEST(TorchModel, ABuffersChangeIsSaidAndWhatTheLossDoesNotDependOnIsZero) {
  struct Idle : torch::nn::Module {
    Idle() {
      register_module("idle", idle);
      register_module("norm", norm);
      register_module("used", used);
    }
    torch::Tensor forward(const torch::Tensor& x) { return used->forward(norm->forward(x)); }
    torch::nn::Linear idle{2, 2};
    torch::nn::BatchNorm1d norm{6};
    torch::nn::Linear used{6, 3};
  };
  const auto model =
      make_torch_model([] { return torch_module(std::make_shared<Idle>()); }, TorchLoss::cross_entropy, {});
  const Batch batch = classified(5, {6}, 3, 4);
  said_by(*model, batch);
  const auto gradient = gradient_of(*model, initial(*model), batch);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(gradient[i], 0.0F);
}

TEST(TorchModel, BitsDoNotDependOnWhereTheStateLies) {
  const auto model = fashion_cnn();
  const auto state = initial(*model);
  const Batch batch = images(16, 1);
  const auto expected = gradient_of(*model, state, batch);
  for (const std::size_t offset : {0U, 1U, 3U, 16U}) {
    std::vector<float> from(state.size() + offset), to(state.size() + offset);
    const auto place = std::span(from).subspan(offset);
    std::ranges::copy(state, place.begin());
    const auto gradient = std::span(to).subspan(offset);
    model->gradient(place, batch, {}, gradient);
    EXPECT_TRUE(same_bits(expected, gradient)) << "offset " << offset;
    EXPECT_TRUE(same_bits(state, place)) << "offset " << offset;
  }
}

TEST(TorchModel, AStateChangedInPlaceIsSeen) {
  const auto model = mlp({6, 3});
  auto state = initial(*model);
  const Batch batch = classified(4, {6}, 3, 1);
  const auto before = gradient_of(*model, state, batch);
  state[0] += 1;
  EXPECT_FALSE(same_bits(before, gradient_of(*model, state, batch)));
}

TEST(TorchModel, ModelsOnTwoThreadsDoNotDisturbEachOther) {
  const auto reference = normed(0.5);
  const auto state = initial(*reference);
  const Batch batch = classified(8, {6}, 3, 1);
  const auto key = [](std::uint32_t i) { return StepKey{.seed = 1, .epoch = 1, .step = i, .shard = 0}; };
  std::vector<std::vector<float>> expected;
  for (std::uint32_t i = 0; i < 20; ++i) expected.push_back(gradient_of(*reference, state, batch, key(i)));
  std::array<int, 2> wrong{};
  const auto work = [&](int& count) {
    const auto model = normed(0.5);
    for (std::uint32_t i = 0; i < 20; ++i)
      if (!same_bits(initial(*model), state) ||
          !same_bits(expected[i], gradient_of(*model, state, batch, key(i))))
        ++count;
  };
  std::thread one([&] { work(wrong[0]); }), two([&] { work(wrong[1]); });
  one.join();
  two.join();
  EXPECT_EQ(wrong[0], 0);
  EXPECT_EQ(wrong[1], 0);
}

TEST(TorchModel, GradientsAreDerivativesOfTheSummedLoss) {
  constexpr std::array<std::size_t, 6> kMlp{0, 17, 40, 41, 52, 61};
  expect_derivatives(*mlp({6, 7, 3}), classified(9, {6}, 3, 1), kMlp);
  // One element of each tensor of the network, the last bias included.
  constexpr std::array<std::size_t, 6> kCnn{4, 300, 5000, 18820, 421000, 421641};
  expect_derivatives(*fashion_cnn(), images(8, 1), kCnn);
}

TEST(TorchModel, PaddingTouchesNoBit) {
  const auto model = fashion_cnn();
  const auto state = initial(*model);
  Batch padded = images(5, 1, 3);
  padded.tensors[0].as<float>().back() = std::nanf("");
  padded.tensors[1].as<std::int64_t>()[7] = -1;
  std::vector<float> bare(state.size()), with(state.size());
  Batch batch = padded;
  batch.padding = 0;
  batch.tensors[0].shape[0] = batch.tensors[1].shape[0] = 5;
  batch.tensors[0].bytes.resize(5U * 784 * 4);
  batch.tensors[1].bytes.resize(5U * 8);
  const Metrics one = model->gradient(state, batch, {}, bare);
  const Metrics two = model->gradient(state, padded, {}, with);
  EXPECT_TRUE(same_bits(bare, with));
  EXPECT_EQ(one.loss, two.loss);
  EXPECT_EQ(model->weight(padded), 5.0);
}

TEST(TorchModel, MetricsAreSums) {
  const auto model = mlp({6, 3});
  std::vector<float> state(model->layout().total(), 0.0F);
  state[18 + 1] = 1.0F;  // the bias of class 1: every row is answered with it
  const Batch batch = classified(12, {6}, 3, 4);
  const auto labels = batch.tensors[1].as<std::int64_t>();
  const auto ones = static_cast<double>(std::ranges::count(labels, 1));
  const Metrics metrics = model->evaluate(state, batch);
  EXPECT_EQ(metrics.correct, ones);
  EXPECT_NEAR(metrics.loss, 12 * std::log(2 + std::exp(1.0)) - ones, 1e-4);
}

TEST(TorchModel, WhatDoesNotFitIsRefused) {
  const auto model = mlp({6, 3});
  const auto state = initial(*model);
  Batch batch = classified(4, {6}, 3, 1);
  batch.tensors[1].as<std::int64_t>()[2] = 3;
  EXPECT_THROW(gradient_of(*model, state, batch), Error);
  EXPECT_THROW(gradient_of(*model, state, classified(4, {5}, 3, 1)), Error);
  EXPECT_THROW(model->evaluate(state, Batch{}), Error);
  for (const char* device : {"cuda:100", "cuda:", "cuda:x", "tpu:0"})
    EXPECT_THROW(make_fashion_cnn({}, {.device = device}), Error) << device;
}

TEST(TorchBuffers, AreRestoredAndTheirChangeIsWeighted) {
  const auto model = normed();
  EXPECT_TRUE(model->mixes_samples());
  const Layout& layout = model->layout();
  ASSERT_EQ(layout.buffers, 17U);  // mean and variance of 8 channels, and a count
  const auto state = initial(*model);
  const Batch batch = classified(8, {6}, 3, 1);
  const auto gradient = gradient_of(*model, state, batch);
  EXPECT_EQ(gradient.back(), 8.0F);  // num_batches_tracked rises by one, weight 8
  // running_mean starts at 0 with momentum 0.1: the change is a tenth of the batch's mean, which is that of
  // linear1's output.
  double mean = 0;
  const auto inputs = batch.tensors[0].as<float>();
  for (std::size_t r = 0; r < 8; ++r)
    for (std::size_t i = 0; i < 6; ++i) mean += double{state[i]} * double{inputs[r * 6 + i]} / 8;
  mean += double{state[48]};
  EXPECT_NEAR(gradient[layout.parameters], 8 * 0.1 * mean, 1e-5);
  model->evaluate(state, batch);
  EXPECT_TRUE(same_bits(gradient, gradient_of(*model, state, batch)));
}

TEST(TorchBuffers, EvaluationUsesTheStatesOwn) {
  const auto model = normed();
  auto state = initial(*model);
  const Batch batch = classified(8, {6}, 3, 1);
  const double before = model->evaluate(state, batch).loss;
  gradient_of(*model, state, batch);
  EXPECT_EQ(model->evaluate(state, batch).loss, before);
  state[model->layout().parameters] += 1;  // running_mean of channel 0
  EXPECT_NE(model->evaluate(state, batch).loss, before);
}

TEST(TorchRandomness, DependsOnTheStepKeyAlone) {
  const auto model = normed(0.5);
  const auto state = initial(*model);
  const Batch batch = classified(8, {6}, 3, 1);
  const StepKey key{.seed = 1, .epoch = 2, .step = 3, .shard = 4};
  const auto first = gradient_of(*model, state, batch, key);
  for (const StepKey& other :
       {StepKey{2, 2, 3, 4}, StepKey{1, 3, 3, 4}, StepKey{1, 2, 4, 4}, StepKey{1, 2, 3, 5}})
    EXPECT_FALSE(same_bits(first, gradient_of(*model, state, batch, other)));
  EXPECT_TRUE(same_bits(first, gradient_of(*model, state, batch, key)));
  EXPECT_EQ(model->evaluate(state, batch).loss, model->evaluate(state, batch).loss);
}

}  // namespace
}  // namespace muster
#endif
