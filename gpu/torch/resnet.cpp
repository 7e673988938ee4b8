#include "gpu/models/resnet.hpp"

#include <torch/nn/init.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "muster/torch_model.hpp"

namespace muster {
namespace {

struct Shape {
  std::int64_t channels;
  std::int64_t classes;
  std::int64_t side;
  std::int64_t width;
};

torch::nn::Conv2d convolution(std::int64_t from, std::int64_t to, std::int64_t size, std::int64_t stride) {
  torch::nn::Conv2d made(
      torch::nn::Conv2dOptions(from, to, size).stride(stride).padding(size / 2).bias(false));
  torch::nn::init::kaiming_normal_(made->weight, 0, torch::kFanOut, torch::kReLU);
  return made;
}

/// The short cut of a block whose output has another shape than its input.
struct Projection : torch::nn::Module {
  Projection(std::int64_t from, std::int64_t to, std::int64_t stride)
      : conv(register_module("0", convolution(from, to, 1, stride))),
        norm(register_module("1", torch::nn::BatchNorm2d(to))) {}

  torch::Tensor forward(const torch::Tensor& x) { return norm->forward(conv->forward(x)); }

  torch::nn::Conv2d conv;
  torch::nn::BatchNorm2d norm;
};

struct Block : torch::nn::Module {
  Block(std::int64_t from, std::int64_t to, std::int64_t stride)
      : conv1(register_module("conv1", convolution(from, to, 3, stride))),
        bn1(register_module("bn1", torch::nn::BatchNorm2d(to))),
        conv2(register_module("conv2", convolution(to, to, 3, 1))),
        bn2(register_module("bn2", torch::nn::BatchNorm2d(to))) {
    if (stride != 1 || from != to)
      downsample = register_module("downsample", std::make_shared<Projection>(from, to, stride));
  }

  torch::Tensor forward(const torch::Tensor& x) {
    auto y = bn1->forward(conv1->forward(x)).relu_();
    y = bn2->forward(conv2->forward(y));
    return y.add_(downsample ? downsample->forward(x) : x).relu_();
  }

  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  torch::nn::Conv2d conv2;
  torch::nn::BatchNorm2d bn2;
  std::shared_ptr<Projection> downsample;
};

struct Stage : torch::nn::Module {
  Stage(std::int64_t from, std::int64_t to, std::int64_t stride)
      : first(register_module("0", std::make_shared<Block>(from, to, stride))),
        second(register_module("1", std::make_shared<Block>(to, to, 1))) {}

  torch::Tensor forward(const torch::Tensor& x) { return second->forward(first->forward(x)); }

  std::shared_ptr<Block> first;
  std::shared_ptr<Block> second;
};

struct ResNet18 : torch::nn::Module {
  explicit ResNet18(const Shape& shape)
      : conv1(register_module("conv1", convolution(shape.channels, shape.width, 3, 1))),
        bn1(register_module("bn1", torch::nn::BatchNorm2d(shape.width))) {
    std::int64_t from = shape.width;
    for (std::int64_t stage = 0; stage < 4; ++stage) {
      const std::int64_t to = shape.width << stage;
      stages.push_back(register_module("layer" + std::to_string(stage + 1),
                                       std::make_shared<Stage>(from, to, stage == 0 ? 1 : 2)));
      from = to;
    }
    fc = register_module("fc", torch::nn::Linear(from, shape.classes));
  }

  torch::Tensor forward(const torch::Tensor& images) {
    auto x = bn1->forward(conv1->forward(images)).relu_();
    for (const auto& stage : stages) x = stage->forward(x);
    return fc->forward(x.mean({2, 3}));
  }

  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  std::vector<std::shared_ptr<Stage>> stages;
  torch::nn::Linear fc{nullptr};
};

}  // namespace

std::unique_ptr<Model> make_resnet18(const Options& options, const ModelContext& context) {
  const Shape shape{option<std::int64_t>(options, "channels"), option<std::int64_t>(options, "classes"),
                    option<std::int64_t>(options, "side"), option<std::int64_t>(options, "width")};
  const auto build = [shape] {
    TorchModule made = torch_module(std::make_shared<ResNet18>(shape));
    made.sample = {shape.channels, shape.side, shape.side};
    made.outputs = shape.classes;
    return made;
  };
  return make_torch_model(build, TorchLoss::cross_entropy, context);
}

}  // namespace muster
