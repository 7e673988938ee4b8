#include "gpu/models/gpt2.hpp"

#include <ATen/ATen.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <cmath>
#include <limits>

#include "gpu/torch/compat.hpp"
#include "muster/error.hpp"
#include "muster/torch_model.hpp"

namespace muster {
namespace {

constexpr double kSpread = 0.02;  // of the initial weights

struct Shape {
  std::int64_t layers;
  std::int64_t heads;
  std::int64_t width;
  std::int64_t context;
  std::int64_t vocabulary;
  double dropout;
};

torch::nn::Linear linear(std::int64_t from, std::int64_t to, double spread = kSpread) {
  torch::nn::Linear made(from, to);
  torch::nn::init::normal_(made->weight, 0, spread);
  torch::nn::init::zeros_(made->bias);
  return made;
}

/// What a block adds to the stream shrinks with the number of blocks.
double residual_spread(const Shape& shape) {
  return kSpread / std::sqrt(2.0 * static_cast<double>(shape.layers));
}

torch::nn::LayerNorm norm(const Shape& shape) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions(std::vector<std::int64_t>{shape.width}));
}

/// A module without dropout draws no random numbers, and has none registered.
struct Part : torch::nn::Module {
  explicit Part(double p) {
    if (p > 0) drop = register_module("drop", torch::nn::Dropout(p));
  }
  torch::Tensor dropped(const torch::Tensor& x) { return drop.is_empty() ? x : drop->forward(x); }
  double share_dropped() const { return drop.is_empty() || !is_training() ? 0 : drop->options.p(); }
  torch::nn::Dropout drop{nullptr};
};

struct Table : torch::nn::Module {
  Table(std::int64_t rows, std::int64_t width)
      : weight(register_parameter("weight", at::empty({rows, width}))) {
    torch::nn::init::normal_(weight, 0, kSpread);
  }
  torch::Tensor weight;
};

struct Attention : Part {
  explicit Attention(const Shape& shape)
      : Part(shape.dropout),
        heads(shape.heads),
        c_attn(register_module("c_attn", linear(shape.width, 3 * shape.width))),
        c_proj(register_module("c_proj", linear(shape.width, shape.width, residual_spread(shape)))) {}

  /// `mask` is added to the scores: 0 where a token may look, minus infinity where not.
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask) {
    const std::int64_t rows = x.size(0), length = x.size(1), width = x.size(2), each = width / heads;
    const auto parts =
        c_attn->forward(x).view({rows, length, 3, heads, each}).permute({2, 0, 3, 1, 4}).unbind(0);
    auto seen = compat::fused_attention(parts[0], parts[1], parts[2], share_dropped());
    if (!seen.defined()) {
      const double scale = 1 / std::sqrt(static_cast<double>(each));
      const auto scores = at::matmul(parts[0], parts[1].transpose(2, 3)).mul(scale).add(mask);
      seen = at::matmul(dropped(at::softmax(scores, 3)), parts[2]);
    }
    return dropped(c_proj->forward(seen.transpose(1, 2).reshape({rows, length, width})));
  }

  std::int64_t heads;
  torch::nn::Linear c_attn;
  torch::nn::Linear c_proj;
};

struct Perceptron : Part {
  explicit Perceptron(const Shape& shape)
      : Part(shape.dropout),
        c_fc(register_module("c_fc", linear(shape.width, 4 * shape.width))),
        c_proj(register_module("c_proj", linear(4 * shape.width, shape.width, residual_spread(shape)))) {}

  torch::Tensor forward(const torch::Tensor& x) {
    return dropped(c_proj->forward(at::gelu(c_fc->forward(x), "tanh")));
  }

  torch::nn::Linear c_fc;
  torch::nn::Linear c_proj;
};

struct Block : torch::nn::Module {
  explicit Block(const Shape& shape)
      : ln_1(register_module("ln_1", norm(shape))),
        attn(register_module("attn", std::make_shared<Attention>(shape))),
        ln_2(register_module("ln_2", norm(shape))),
        mlp(register_module("mlp", std::make_shared<Perceptron>(shape))) {}

  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask) {
    const auto y = x + attn->forward(ln_1->forward(x), mask);
    return y + mlp->forward(ln_2->forward(y));
  }

  torch::nn::LayerNorm ln_1;
  std::shared_ptr<Attention> attn;
  torch::nn::LayerNorm ln_2;
  std::shared_ptr<Perceptron> mlp;
};

/// Only a container of the blocks, so that they are called h.0, h.1, ...
struct Blocks : torch::nn::Module {
  explicit Blocks(const Shape& shape) {
    for (std::int64_t i = 0; i < shape.layers; ++i)
      all.push_back(register_module(std::to_string(i), std::make_shared<Block>(shape)));
  }
  std::vector<std::shared_ptr<Block>> all;
};

struct Gpt2 : Part {
  explicit Gpt2(const Shape& shape)
      : Part(shape.dropout),
        wte(register_module("wte", std::make_shared<Table>(shape.vocabulary, shape.width))),
        wpe(register_module("wpe", std::make_shared<Table>(shape.context, shape.width))),
        h(register_module("h", std::make_shared<Blocks>(shape))),
        ln_f(register_module("ln_f", norm(shape))) {}

  /// [rows, length] tokens to [rows, length, vocabulary] logits.
  torch::Tensor forward(const torch::Tensor& tokens) {
    const std::int64_t length = tokens.size(1);
    auto x = dropped(at::embedding(wte->weight, tokens) + wpe->weight.narrow(0, 0, length));
    const auto mask =
        at::full({length, length}, -std::numeric_limits<float>::infinity(), x.options()).triu_(1);
    for (const auto& block : h->all) x = block->forward(x, mask);
    return at::linear(ln_f->forward(x), wte->weight);
  }

  std::shared_ptr<Table> wte;
  std::shared_ptr<Table> wpe;
  std::shared_ptr<Blocks> h;
  torch::nn::LayerNorm ln_f;
};

}  // namespace

std::unique_ptr<Model> make_gpt2(const Options& options, const ModelContext& context) {
  const auto integer_of = [&](const char* key) { return option<std::int64_t>(options, key); };
  const Shape shape{integer_of("layers"),  integer_of("heads"),      integer_of("width"),
                    integer_of("context"), integer_of("vocabulary"), option<double>(options, "dropout")};
  if (shape.width % shape.heads != 0)
    throw JobError("model.heads", std::to_string(shape.heads) + " heads do not share out a width of " +
                                      std::to_string(shape.width) +
                                      ": model.width must be a multiple of model.heads");
  const auto build = [shape] {
    TorchModule made = torch_module(std::make_shared<Gpt2>(shape));
    made.sample = {shape.context};
    made.outputs = shape.vocabulary;
    return made;
  };
  return make_torch_model(build, TorchLoss::next_token, context);
}

}  // namespace muster
