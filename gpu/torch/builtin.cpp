#include "gpu/models/builtin.hpp"

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "muster/error.hpp"
#include "muster/torch_model.hpp"

namespace muster {
namespace {

struct Mlp : torch::nn::Module {
  explicit Mlp(const std::vector<std::int64_t>& sizes) {
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i)
      layers.push_back(
          register_module("linear" + std::to_string(i + 1), torch::nn::Linear(sizes[i], sizes[i + 1])));
  }

  torch::Tensor forward(torch::Tensor x) {
    x = layers.front()->forward(x.flatten(1));
    for (std::size_t i = 1; i < layers.size(); ++i) x = layers[i]->forward(x.relu_());
    return x;
  }

  std::vector<torch::nn::Linear> layers;
};

struct FashionCnn : torch::nn::Module {
  FashionCnn() {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("linear1", linear1);
    register_module("linear2", linear2);
  }

  /// Faster than the textbook order, with the same values: ReLU after max-pooling is the same function with a
  /// quarter of the work, and on the CPU activations are kept with channels last, for which libtorch's
  /// pooling is vectorized there.
  torch::Tensor forward(const torch::Tensor& images) {
    constexpr std::int64_t kSide = 28;
    const auto rows = images.size(0);
    auto x = images.reshape({rows, 1, kSide, kSide});
    // One channel: the same memory reads as channels last.
    if (x.is_cpu()) x = x.as_strided({rows, 1, kSide, kSide}, {kSide * kSide, 1, kSide, 1});
    x = at::max_pool2d(conv1->forward(x), 2).relu_();
    x = at::max_pool2d(conv2->forward(x), 2).relu_();
    return linear2->forward(linear1->forward(x.flatten(1)).relu_());
  }

  torch::nn::Conv2d conv1{torch::nn::Conv2dOptions(1, 32, 3).padding(1)};
  torch::nn::Conv2d conv2{torch::nn::Conv2dOptions(32, 64, 3).padding(1)};
  torch::nn::Linear linear1{64 * 7 * 7, 128};
  torch::nn::Linear linear2{128, 10};
};

}  // namespace

std::unique_ptr<Model> make_mlp(const Options& options, const ModelContext& context) {
  const auto sizes = option<std::vector<std::int64_t>>(options, "sizes");
  if (sizes.size() < 2)
    throw JobError("model.sizes", "at least two sizes are needed: the inputs and the classes");
  const auto build = [sizes] {
    TorchModule made = torch_module(std::make_shared<Mlp>(sizes));
    made.sample = {sizes.front()};
    made.outputs = sizes.back();
    return made;
  };
  return make_torch_model(build, TorchLoss::cross_entropy, context);
}

std::unique_ptr<Model> make_fashion_cnn(const Options&, const ModelContext& context) {
  const auto build = [] {
    TorchModule made = torch_module(std::make_shared<FashionCnn>());
    made.sample = {28 * 28};
    made.outputs = 10;
    return made;
  };
  return make_torch_model(build, TorchLoss::cross_entropy, context);
}

}  // namespace muster
