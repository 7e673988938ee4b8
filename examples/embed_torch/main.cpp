// A torch::nn::Module of one's own as a model, in Muster's own command line:
//
//   embed_torch run embed_torch.toml
//   embed_torch run embed_torch.toml --replicas 2          # the same weights_sha256, bit for bit
//   embed_torch run embed_torch.toml --set model.width=64
//   embed_torch plan embed_torch.toml
//
// The replicas are this executable, started again. Elsewhere a module is wrapped, and from then on its
// dropout depends on which worker drew first; here each shard's draws follow from seed, step and shard, so
// they are the same on any number of replicas.
#include <string>
#include <vector>

#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include "muster/command_line.hpp"
#include "muster/torch_model.hpp"

namespace {

// A perceptron with residual connections, for flat images of 28x28 in 10 classes.
struct SkipNet : torch::nn::Module {
  SkipNet(std::int64_t width, std::int64_t blocks, double dropped)
      : enter(register_module("enter", torch::nn::Linear(28 * 28, width))),
        leave(register_module("leave", torch::nn::Linear(width, 10))),
        dropout(register_module("dropout", torch::nn::Dropout(dropped))) {
    for (std::int64_t i = 1; i <= blocks; ++i) {
      const std::string number = std::to_string(i);
      const torch::nn::LayerNormOptions all({width});
      norms.push_back(register_module("norm" + number, torch::nn::LayerNorm(all)));
      layers.push_back(register_module("layer" + number, torch::nn::Linear(width, width)));
    }
  }

  torch::Tensor forward(const torch::Tensor& images) {
    torch::Tensor x = enter(images);
    for (std::size_t i = 0; i < layers.size(); ++i) x = x + dropout(layers[i](norms[i](x)).relu());
    return leave(x);
  }

  torch::nn::Linear enter, leave;
  torch::nn::Dropout dropout;
  std::vector<torch::nn::LayerNorm> norms;
  std::vector<torch::nn::Linear> layers;
};

// The keys of [model] beside `name`: type, default and bounds. `plan` and `run` name what does not fit.
std::vector<muster::OptionSpec> skip_net_options() {
  using muster::Option;
  using muster::OptionType;
  return {
      {"width", OptionType::integer, "units of each layer", Option{std::int64_t{32}}, 1, 4096, {}},
      {"blocks", OptionType::integer, "residual connections", Option{std::int64_t{2}}, 0, 100, {}},
      {"dropout", OptionType::number, "part of the units that is dropped", Option{0.1}, 0, 1, {}},
  };
}

std::unique_ptr<muster::Model> make_skip_net(const muster::Options& options,
                                             const muster::ModelContext& context) {
  const auto width = muster::option<std::int64_t>(options, "width");
  const auto blocks = muster::option<std::int64_t>(options, "blocks");
  const auto dropped = muster::option<double>(options, "dropout");
  const auto build = [=] {
    muster::TorchModule made = muster::torch_module(std::make_shared<SkipNet>(width, blocks, dropped));
    made.sample = {28 * 28};
    made.outputs = 10;
    return made;
  };
  return muster::make_torch_model(build, muster::TorchLoss::cross_entropy, context);
}

}  // namespace

int main(int argc, char** argv) {
  muster::Registry registry = muster::builtin_registry();
  registry.add_model("skip_net", skip_net_options(), make_skip_net);
  return muster::main(argc, argv, registry);
}
