// The back end for any torch::nn::Module: its parameters and buffers are mapped to the flat state of the
// model seam. It includes libtorch: units that use it compile slowly.
//
//   #include <torch/nn/modules/linear.h>
//   #include "muster/registry.hpp"
//   #include "muster/torch_model.hpp"
//
//   struct NetImpl : torch::nn::Module {
//     NetImpl() { register_module("layer", layer); }
//     torch::Tensor forward(const torch::Tensor& pixels) { return layer(pixels.flatten(1)); }
//     torch::nn::Linear layer{784, 10};
//   };
//   std::unique_ptr<muster::Model> make_net(const muster::Options&, const muster::ModelContext& context) {
//     const auto build = [] { return muster::torch_module(std::make_shared<NetImpl>()); };
//     return muster::make_torch_model(build, muster::TorchLoss::cross_entropy, context);
//   }
//   void add(muster::Registry& registry) { registry.add_model("net", {}, make_net); }
#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <memory>
#include <utility>

#include "muster/model.hpp"

namespace muster {

/// A module together with its forward pass. The module's parameters and buffers must be dense CPU tensors,
/// parameters float32, and stay the same tensors for life. For a GPU they are moved there with
/// torch::nn::Module::to; what the module makes in its forward pass must be made on its inputs' device.
struct TorchModule {
  std::shared_ptr<torch::nn::Module> module;  ///< owns parameters and buffers
  std::function<torch::Tensor(const torch::Tensor&)>
      forward;                 ///< inputs [rows, ...] to logits [rows, classes] (or as the loss says)
  bool random = false;         ///< draws random numbers that are not from a Dropout module (those are found)
  bool mixes_samples = false;  ///< looks across samples other than by a BatchNorm module (those are found)
  /// Shape of one sample's inputs, which each batch is held against. With cross_entropy one number stands for
  /// any shape with as many elements, which the module is given flat; with next_token for the most tokens
  /// that a sample may predict. Empty: not checked.
  std::vector<std::int64_t> sample = {};
  std::int64_t outputs = 0;  ///< classes, or the vocabulary; 0: what the first forward pass shows
};

/// A TorchModule from a module that has `torch::Tensor forward(torch::Tensor)`.
template <class M>
TorchModule torch_module(std::shared_ptr<M> module) {
  auto forward = [raw = module.get()](const torch::Tensor& input) { return raw->forward(input); };
  return TorchModule{std::move(module), std::move(forward)};
}

/// The loss that make_torch_model puts behind a module's outputs.
enum class TorchLoss {
  cross_entropy,  ///< sum over the rows of log-softmax and negative log-likelihood; labels are int64
  next_token,     ///< the same over the tokens of each row, each predicted from those before it
};

/// `build` makes a fresh module with freshly drawn weights; it is called once at once, and once for each
/// initialize(), with libtorch's default generator seeded. It must build the same thing each time.
///
/// Batch with cross_entropy: tensors[0] float32 [rows, ...], tensors[1] int64 [rows]. Only the first `rows`
/// rows are handed to the module, so padding cannot touch a bit of the result. Metrics: the sum of the loss,
/// the number of rows whose largest logit is the label's (the first of equals).
///
/// Batch with next_token: tensors[0] int64 [rows, length + 1]. The module is given [rows, length] tokens, all
/// but the last of each row, and returns logits [rows, length, vocabulary]; the labels are all but the first.
/// A token below 0 stands behind the end of a text: as a label it does not count, as an input it reads as 0.
/// A batch weighs what there are labels, and metrics are sums over them.
///
/// State: named_parameters(), then named_buffers(), in declared order and with their dotted names; integer
/// buffers are kept as float32 (exact up to 2^24). Random modules draw from a seed made of the StepKey.
///
/// On a GPU: initial weights are drawn on the host, and are the same bits as there. Batches are copied
/// through pinned memory. gradient() and evaluate() wait once, for their
/// metrics, which are there when the forward pass is over: the backward pass may still be going on when
/// gradient() returns.
///
/// With ModelContext::bfloat16 forward passes run under libtorch's autocast, which chooses by operation; the
/// loss is computed in float32 from whatever type of logits that gives.
///
/// Threads: one object is used by one thread at a time; several objects may be used at once. Modules that
/// draw random numbers take turns, for libtorch has one generator for all. The first model of a process sets
/// libtorch to deterministic algorithms, without TF32, and tells malloc to keep large freed blocks
/// (activations) instead of handing them back after each use; the first one on a GPU sets
/// CUBLAS_WORKSPACE_CONFIG where it is not set.
///
/// Throws Error for a batch that does not fit or a label out of range, and at once for a device
/// that this build or machine does not have; with libtorch's words for what libtorch throws.
std::unique_ptr<Model> make_torch_model(std::function<TorchModule()> build, TorchLoss loss,
                                        const ModelContext& context);

}  // namespace muster
