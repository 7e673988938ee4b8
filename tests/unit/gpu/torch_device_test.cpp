// What holds of libtorch's models wherever they compute, in float32 and in bfloat16.
#ifdef MUSTER_WITH_TORCH
#include <algorithm>

#include "gpu/models/builtin.hpp"
#include "gpu/models/gpt2.hpp"
#include "gpu/models/resnet.hpp"
#include "gpu/torch/torch_loss.hpp"
#include "muster/error.hpp"
#include "tests/unit/gpu/torch_models.hpp"
#ifdef MUSTER_WITH_TORCH_CUDA
#include <c10/cuda/CUDAStream.h>
#endif

namespace muster {
namespace {

using namespace testing_support;

struct Case {
  const char* name;
  std::unique_ptr<Model> (*make)(const ModelContext&);
  Batch batch;
};

std::unique_ptr<Model> cnn(const ModelContext& context) {
  return make_fashion_cnn({}, context);
}

std::unique_ptr<Model> resnet(const ModelContext& context) {
  return make_resnet18({{"channels", std::int64_t{3}},
                        {"classes", std::int64_t{10}},
                        {"side", std::int64_t{16}},
                        {"width", std::int64_t{8}}},
                       context);
}

std::unique_ptr<Model> decoder_with(double dropout, const ModelContext& context) {
  return make_gpt2({{"layers", std::int64_t{2}},
                    {"heads", std::int64_t{4}},
                    {"width", std::int64_t{32}},
                    {"context", std::int64_t{24}},
                    {"vocabulary", std::int64_t{61}},
                    {"dropout", dropout}},
                   context);
}

std::unique_ptr<Model> decoder(const ModelContext& context) {
  return decoder_with(0, context);
}

/// Rows of random tokens; the last one ends early.
Batch random_tokens() {
  std::vector<std::vector<std::int64_t>> rows(5, std::vector<std::int64_t>(21));
  SplitMix64 random(3);
  for (auto& row : rows)
    for (auto& token : row) token = static_cast<std::int64_t>(random.next() % 61);
  rows.back()[19] = rows.back()[20] = -1;
  return token_batch(rows);
}

std::vector<Case> cases() {
  return {{"fashion_cnn", cnn, classified(9, {1, 28, 28}, 10, 5)},
          {"resnet18", resnet, classified(12, {3, 16, 16}, 10, 5)},
          {"gpt2", decoder, random_tokens()}};
}

/// Of each tensor: the largest difference, against its largest element, or against 1 where that is smaller.
double largest_difference(const Layout& layout, std::span<const float> a, std::span<const float> b) {
  double worst = 0;
  for (const LayoutEntry& entry : layout.entries) {
    double scale = 1, difference = 0;
    for (std::size_t i = entry.offset; i < entry.offset + entry.count; ++i) {
      scale = std::max(scale, std::abs(double{b[i]}));
      difference = std::max(difference, std::abs(double{a[i]} - double{b[i]}));
      if (std::isnan(a[i])) return HUGE_VAL;
    }
    worst = std::max(worst, difference / scale);
  }
  return worst;
}

class TorchDevice : public OnDevices {};
INSTANTIATE_TEST_SUITE_P(On, TorchDevice, ::testing::Values("cpu", "cuda:0"), device_name);

TEST_P(TorchDevice, WeightsBeginAsOnTheHost) {
  for (const Case& one : cases()) {
    const auto model = one.make({.device = device()});
    EXPECT_TRUE(model->computes_on_gpus());
    EXPECT_TRUE(same_bits(initial_on(device(), *model, 3), initial(*one.make({}), 3))) << one.name;
  }
}

TEST_P(TorchDevice, GradientsAndMetricsAreTheHosts) {
  for (const Case& one : cases()) {
    const auto host = one.make({});
    const auto model = one.make({.device = device()});
    const auto state = initial(*host);
    const Grads expected = grads_on("cpu", *host, state, one.batch);
    const Grads found = grads_on(device(), *model, state, one.batch);
    const double difference = largest_difference(model->layout(), found.values, expected.values);
    EXPECT_LE(difference, 1e-4) << one.name;
    EXPECT_GT(std::abs(*std::ranges::max_element(expected.values)), 1e-2F) << "there is nothing to compare";
    EXPECT_NEAR(found.metrics.loss, expected.metrics.loss, 1e-5 * expected.metrics.loss) << one.name;
    EXPECT_EQ(found.metrics.correct, expected.metrics.correct) << one.name;
    const DeviceFloats there(device(), state);
    const Metrics evaluated = model->evaluate(there.span(), one.batch);
    const Metrics on_host = host->evaluate(state, one.batch);
    EXPECT_NEAR(evaluated.loss, on_host.loss, 1e-5 * on_host.loss) << one.name;
    EXPECT_TRUE(same_bits(there.read(), state)) << one.name;
  }
}

TEST_P(TorchDevice, TheSameCallGivesTheSameBits) {
  for (const bool bfloat16 : {false, true}) {
    for (const Case& one : cases()) {
      const auto model = one.make({.device = device(), .bfloat16 = bfloat16});
      const auto state = initial(*one.make({}));
      const Grads first = grads_on(device(), *model, state, one.batch);
      auto other = state;
      for (float& value : other) value *= 0.5F;
      grads_on(device(), *model, other, one.batch);  // nothing is kept of it
      for (int again = 0; again < 3; ++again) {
        const Grads found = grads_on(device(), *model, state, one.batch);
        EXPECT_TRUE(same_bits(found.values, first.values)) << one.name << ", bfloat16 " << bfloat16;
        EXPECT_EQ(found.metrics.loss, first.metrics.loss);
      }
      const auto fresh = one.make({.device = device(), .bfloat16 = bfloat16});
      EXPECT_TRUE(same_bits(grads_on(device(), *fresh, state, one.batch).values, first.values)) << one.name;
    }
  }
}

// What is said is final in the order of the stream; here it is looked at once it is said.
TEST_P(TorchDevice, EachElementIsSaidOnce) {
  for (const Case& one : cases()) {
    const auto model = one.make({.device = device()});
    const auto state = initial(*one.make({}));
    const Grads expected = grads_on(device(), *model, state, one.batch);
    const DeviceFloats from(device(), state), to(device(), state.size());
    std::vector<int> said(state.size());
    std::size_t parts = 0;
    model->gradient_in_parts(
        from.span(), one.batch, {}, to.span(), [&](std::size_t begin, std::size_t count) {
          const auto part = to.read(begin, count);
          EXPECT_TRUE(same_bits(part, std::span(expected.values).subspan(begin, count))) << one.name;
          for (std::size_t i = begin; i < begin + count; ++i) ++said[i];
          ++parts;
        });
    EXPECT_TRUE(std::ranges::all_of(said, [](int times) { return times == 1; })) << one.name;
    EXPECT_GT(parts, model->layout().entries.size() / 2) << "said all at once";
  }
}

TEST_P(TorchDevice, ABatchMayBeChangedOnceTheCallHasReturned) {
  for (Case& one : cases()) {
    const auto model = one.make({.device = device()});
    const auto state = initial(*one.make({}));
    const Grads expected = grads_on(device(), *model, state, one.batch);
    const DeviceFloats from(device(), state), to(device(), state.size());
    Batch batch = one.batch;
    model->gradient(from.span(), batch, {}, to.span());
    for (Tensor& tensor : batch.tensors) std::ranges::fill(tensor.bytes, std::byte{0});
    EXPECT_TRUE(same_bits(to.read(), expected.values)) << one.name;
  }
}

TEST_P(TorchDevice, RandomnessDependsOnTheStepKeyAlone) {
  const auto model = decoder_with(0.3, {.device = device()});
  const auto state = initial(*decoder_with(0.3, {}));
  const Batch batch = random_tokens();
  const StepKey key{.seed = 1, .epoch = 2, .step = 3, .shard = 4};
  const auto first = grads_on(device(), *model, state, batch, key).values;
  EXPECT_FALSE(same_bits(first, grads_on(device(), *model, state, batch, {1, 2, 4, 4}).values));
  EXPECT_TRUE(same_bits(first, grads_on(device(), *model, state, batch, key).values));
}

TEST_P(TorchDevice, InBfloat16TheLossFallsAndOtherBitsComeOut) {
  for (const Case& one : cases()) {
    const auto model = one.make({.device = device(), .bfloat16 = true});
    EXPECT_TRUE(model->takes_bfloat16());
    auto state = initial(*one.make({}));
    const Grads mixed = grads_on(device(), *model, state, one.batch);
    const Grads exact = grads_on(device(), *one.make({.device = device()}), state, one.batch);
    EXPECT_FALSE(same_bits(mixed.values, exact.values)) << one.name;
    EXPECT_NEAR(mixed.metrics.loss, exact.metrics.loss, 0.05 * exact.metrics.loss) << one.name;
    const double weight = model->weight(one.batch);
    for (int step = 0; step < 8; ++step) {
      const Grads grads = grads_on(device(), *model, state, one.batch);
      for (std::size_t i = 0; i < model->layout().parameters; ++i)
        state[i] -= 0.05F * grads.values[i] / static_cast<float>(weight);
    }
    EXPECT_LT(grads_on(device(), *model, state, one.batch).metrics.loss, 0.95 * mixed.metrics.loss)
        << one.name;
  }
}

// The weights are the caller's, and change between two calls: what autocast kept of them must be gone.
TEST_P(TorchDevice, InBfloat16AChangedStateIsSeen) {
  const auto model = cnn({.device = device(), .bfloat16 = true});
  auto state = initial(*cnn({}));
  const Batch batch = classified(9, {1, 28, 28}, 10, 5);
  const DeviceFloats there(device(), state), out(device(), state.size());
  model->gradient(there.span(), batch, {}, out.span());
  for (float& value : state) value *= 0.5F;
  at::from_blob(there.span().data(), {static_cast<std::int64_t>(state.size())},
                at::TensorOptions(at::kFloat).device(at::Device(device())))
      .copy_(at::from_blob(state.data(), {static_cast<std::int64_t>(state.size())}, at::kFloat));
  model->gradient(there.span(), batch, {}, out.span());
  const auto fresh = cnn({.device = device(), .bfloat16 = true});
  EXPECT_TRUE(same_bits(out.read(), grads_on(device(), *fresh, state, batch).values));
}

// What a GPU computes its loss with, here on the host, against what the host computes it with.
TEST(TorchLoss, IsTheSameOnADeviceAsOnTheHost) {
  const std::vector<std::int64_t> labels{2, -1, 0, 4, 4, -1, 1};
  for (const bool holes : {true, false}) {
    const std::vector<std::int64_t> some = holes ? labels : std::vector<std::int64_t>{2, 3, 0, 4, 4, 0, 1};
    const Tensor values = random_floats({7, 5}, 1);
    at::Tensor logits =
        at::from_blob(const_cast<float*>(values.as<float>().data()), {7, 5}, at::kFloat).mul(3);
    logits[3].fill_(0.25);  // the first of equals is the answer, and it is wrong
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      const at::Tensor given = logits.to(type);
      at::Tensor expected, found;
      const Metrics metrics = cross_entropy(given, some, &expected);
      const at::Tensor sums = cross_entropy_sums(given, at::tensor(some, at::kLong), holes, &found);
      EXPECT_NEAR(sums[0].item<double>(), metrics.loss, 1e-9);
      EXPECT_EQ(sums[1].item<double>(), metrics.correct);
      EXPECT_EQ(found.scalar_type(), type);
      EXPECT_TRUE(at::equal(found, expected));
    }
  }
}

#ifdef MUSTER_WITH_TORCH_CUDA
class TorchGpu : public OnDevices {};
INSTANTIATE_TEST_SUITE_P(On, TorchGpu, ::testing::Values("cuda:0"), device_name);

TEST_P(TorchGpu, ComputesOnTheStreamThatItIsGiven) {
  const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool(false, 0);
  for (const Case& one : cases()) {
    const auto model = one.make({.device = device(), .stream = stream.stream()});
    const auto state = initial(*one.make({}));
    const Grads expected = grads_on(device(), *one.make({.device = device()}), state, one.batch);
    const DeviceFloats from(device(), state), to(device(), state.size());
    c10::cuda::getDefaultCUDAStream(0).synchronize();
    model->gradient(from.span(), one.batch, {}, to.span());
    stream.synchronize();
    EXPECT_TRUE(same_bits(to.read(), expected.values)) << one.name;
  }
}

TEST_P(TorchGpu, RefusesMemoryOfTheHost) {
  const auto model = cnn({.device = device()});
  std::vector<float> state(model->layout().total()), gradient(state.size());
  EXPECT_THROW(model->initialize(1, state), Error);
  EXPECT_THROW(model->gradient(state, classified(9, {1, 28, 28}, 10, 5), {}, gradient), Error);
}
#endif

}  // namespace
}  // namespace muster
#endif
