// resnet18 and gpt2: what they are made of, and what they may and may not see.
#ifdef MUSTER_WITH_TORCH
#include <gtest/gtest.h>

#include <cmath>

#include "gpu/models/gpt2.hpp"
#include "gpu/models/resnet.hpp"
#include "muster/error.hpp"
#include "tests/unit/gpu/torch_models.hpp"

namespace muster {
namespace {

using testing_support::classified;
using testing_support::gradient_of;
using testing_support::initial;
using testing_support::same_bits;
using testing_support::token_batch;

std::unique_ptr<Model> resnet(std::int64_t channels, std::int64_t side, std::int64_t width) {
  return make_resnet18(
      {{"channels", channels}, {"classes", std::int64_t{10}}, {"side", side}, {"width", width}}, {});
}

Options tiny(std::int64_t heads = 2, double dropout = 0) {
  return {{"layers", std::int64_t{2}},      {"heads", heads},
          {"width", std::int64_t{8}},       {"context", std::int64_t{6}},
          {"vocabulary", std::int64_t{11}}, {"dropout", dropout}};
}

const LayoutEntry& entry(const Model& model, const std::string& name) {
  for (const LayoutEntry& one : model.layout().entries)
    if (one.name == name) return one;
  ADD_FAILURE() << name;
  return model.layout().entries[0];
}

TEST(ResNet18, HasTheParametersOfThePaper) {
  const auto model = resnet(3, 32, 64);
  EXPECT_EQ(model->layout().parameters, 11173962U);
  EXPECT_EQ(model->layout().buffers, 2U * 4800 + 20);  // mean and variance of 4,800 channels, 20 counts
  EXPECT_TRUE(model->mixes_samples());
  EXPECT_EQ(entry(*model, "layer2.0.downsample.0.weight").shape, (std::vector<std::int64_t>{128, 64, 1, 1}));
  EXPECT_EQ(entry(*model, "fc.weight").shape, (std::vector<std::int64_t>{10, 512}));
}

TEST(ResNet18, TakesGrayImagesOfTheDeclaredSideOnly) {
  const auto model = resnet(1, 28, 4);
  const auto state = initial(*model);
  const Batch batch = classified(3, {1, 28, 28}, 10, 1);
  EXPECT_NO_THROW(model->check_batch(batch));
  EXPECT_NO_THROW(gradient_of(*model, state, batch));
  EXPECT_THROW(model->check_batch(classified(3, {1, 32, 32}, 10, 1)), JobError);
  EXPECT_THROW(gradient_of(*model, state, classified(3, {3, 28, 28}, 10, 1)), JobError);
  EXPECT_THROW(model->check_batch(classified(64, {1, 28, 28}, 11, 1)), JobError);  // a label of 10
}

TEST(ResNet18, BitsDependOnTheArgumentsAlone) {
  const auto model = resnet(1, 28, 4);
  const auto state = initial(*model);
  const Batch one = classified(1, {1, 28, 28}, 10, 1), many = classified(7, {1, 28, 28}, 10, 2);
  const auto first = gradient_of(*model, state, one);
  gradient_of(*model, state, many);
  model->evaluate(state, many);
  EXPECT_TRUE(same_bits(first, gradient_of(*model, state, one)));
  EXPECT_TRUE(same_bits(first, gradient_of(*resnet(1, 28, 4), state, one)));
  for (const std::size_t offset : {1U, 4U, 16U}) {
    std::vector<float> moved(state.size() + offset);
    std::ranges::copy(state, moved.begin() + static_cast<std::ptrdiff_t>(offset));
    EXPECT_TRUE(same_bits(first, gradient_of(*model, std::span(moved).subspan(offset), one))) << offset;
  }
}

TEST(Gpt2, TheEmbeddingIsTheHead) {
  const auto model = make_gpt2(tiny(), {});
  const std::size_t block = 2 * 16 + (8 * 24 + 24) + (8 * 8 + 8) + (8 * 32 + 32) + (32 * 8 + 8);
  EXPECT_EQ(model->layout().parameters, 11U * 8 + 6 * 8 + 2 * block + 16);
  EXPECT_EQ(model->layout().buffers, 0U);
  EXPECT_FALSE(model->mixes_samples());
  // Tokens that are no input still get a gradient, as answers that were wrong.
  const auto state = initial(*model);
  const auto gradient = gradient_of(*model, state, token_batch({{1, 2, 3, 4}}));
  EXPECT_NE(gradient[10 * 8], 0.0F);
}

// With the numbers of the defaults, whose state is too large to make here.
TEST(Gpt2, TheDefaultsAreTheSmallestPublishedModel) {
  std::map<std::string, std::uint64_t> is;
  for (const OptionSpec& spec : gpt2_options())
    if (spec.type == OptionType::integer) is[spec.key] = std::get<std::int64_t>(*spec.default_value);
  const std::uint64_t w = is["width"];
  const std::uint64_t block =
      4 * w + (3 * w * w + 3 * w) + (w * w + w) + (4 * w * w + 4 * w) + (4 * w * w + w);
  EXPECT_EQ((is["vocabulary"] + is["context"]) * w + is["layers"] * block + 2 * w, 124439808U);
}

TEST(Gpt2, WeighsTheTokensThatItPredicts) {
  const auto model = make_gpt2(tiny(), {});
  EXPECT_EQ(model->weight(token_batch({{1, 2, 3, 4}, {5, 6, 7, 8}})), 6.0);
  EXPECT_EQ(model->weight(token_batch({{1, 2, 3, 4}, {5, 6, -1, -1}})), 4.0);
  EXPECT_EQ(model->weight(token_batch({{1, 2, 3, 4}, {5, 6, 7, 8}}, 1)), 3.0);
}

// What a row is worth on its own, it is worth beside others, and before what is behind its end.
TEST(Gpt2, LooksBackOnly) {
  const auto model = make_gpt2(tiny(), {});
  const auto state = initial(*model);
  const double alone = model->evaluate(state, token_batch({{1, 2, 3}})).loss;
  EXPECT_NEAR(model->evaluate(state, token_batch({{1, 2, 3, -1, -1, -1}})).loss, alone, 1e-5);
  const double longer = model->evaluate(state, token_batch({{1, 2, 3, 4}})).loss;
  const double last_only = longer - alone;
  EXPECT_GT(last_only, 0);
  EXPECT_NEAR(model->evaluate(state, token_batch({{1, 2, 3}, {7, 8, 9}})).loss,
              alone + model->evaluate(state, token_batch({{7, 8, 9}})).loss, 1e-5);
  // Another last input changes no prediction before it: the same two labels, one behind them left out.
  const auto of_first_two = [&](std::int64_t input) {
    return model->evaluate(state, token_batch({{1, 2, 3, input, -1}})).loss -
           model->evaluate(state, token_batch({{1, 2, 3, input}})).loss;
  };
  EXPECT_NEAR(of_first_two(4), 0, 1e-5);
  EXPECT_NEAR(of_first_two(9), 0, 1e-5);
}

TEST(Gpt2, GradientsAreDerivativesOfTheSummedLoss) {
  const auto model = make_gpt2(tiny(), {});
  auto state = initial(*model);
  for (float& value : state) value *= 10;  // away from the flat beginning
  const Batch batch = token_batch({{1, 2, 3, 4, 5}, {6, 1, 9, -1, -1}});
  const auto gradient = gradient_of(*model, state, batch);
  for (const char* name : {"wte.weight", "wpe.weight", "h.0.attn.c_attn.weight", "h.0.attn.c_proj.bias",
                           "h.1.mlp.c_fc.weight", "h.1.ln_2.weight", "ln_f.bias"}) {
    const std::size_t i = entry(*model, name).offset + 9 % entry(*model, name).count;
    auto up = state, down = state;
    up[i] += 4e-3F;
    down[i] -= 4e-3F;
    const double grad = (model->evaluate(up, batch).loss - model->evaluate(down, batch).loss) /
                        (double{up[i]} - double{down[i]});
    EXPECT_NEAR(gradient[i], grad, 0.01 + 0.02 * std::abs(grad)) << name;
  }
}

TEST(Gpt2, PaddingAndPlaceTouchNoBit) {
  const auto model = make_gpt2(tiny(), {});
  const auto state = initial(*model);
  const auto bare = gradient_of(*model, state, token_batch({{1, 2, 3, 4}}));
  EXPECT_TRUE(same_bits(bare, gradient_of(*model, state, token_batch({{1, 2, 3, 4}, {99, 99, 99, 99}}, 1))));
  for (const std::size_t offset : {1U, 3U, 16U}) {
    std::vector<float> moved(state.size() + offset);
    std::ranges::copy(state, moved.begin() + static_cast<std::ptrdiff_t>(offset));
    EXPECT_TRUE(
        same_bits(bare, gradient_of(*model, std::span(moved).subspan(offset), token_batch({{1, 2, 3, 4}}))));
  }
}

TEST(Gpt2, DropoutDependsOnTheStepKeyAlone) {
  const auto model = make_gpt2(tiny(2, 0.3), {});
  const auto state = initial(*model);
  const Batch batch = token_batch({{1, 2, 3, 4, 5, 6}});
  const StepKey key{.seed = 1, .epoch = 2, .step = 3, .shard = 4};
  const auto first = gradient_of(*model, state, batch, key);
  EXPECT_FALSE(same_bits(first, gradient_of(*model, state, batch, {1, 2, 4, 4})));
  EXPECT_TRUE(same_bits(first, gradient_of(*model, state, batch, key)));
  EXPECT_EQ(model->evaluate(state, batch).loss, model->evaluate(state, batch).loss);
}

TEST(Gpt2, WhatDoesNotFitIsRefused) {
  EXPECT_THROW(make_gpt2(tiny(3), {}), JobError);
  const auto model = make_gpt2(tiny(), {});
  EXPECT_THROW(model->check_batch(token_batch({{1, 2, 3, 4, 5, 6, 7, 8}})),
               JobError);  // 7 beyond a context of 6
  EXPECT_THROW(model->check_batch(token_batch({{1}})), JobError);
  EXPECT_THROW(model->check_batch(token_batch({{1, 11}})), JobError);
  EXPECT_THROW(model->check_batch(classified(3, {4}, 3, 1)), JobError);
  EXPECT_NO_THROW(model->check_batch(token_batch({{1, 10, 3, 4, 5, 6, -1}})));
}

}  // namespace
}  // namespace muster
#endif
