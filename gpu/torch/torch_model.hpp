// The back end for any torch::nn::Module: its parameters and buffers are mapped to the flat state of the
// model seam. This public header includes libtorch (units that use it compile slowly); gpu/torch/builtin.hpp
// does not.
#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <memory>
#include <utility>

#include "muster/gpu/model.hpp"
#include "muster/gpu/model_context.hpp"

namespace muster {

/// A module together with its forward pass. The module's parameters and buffers must be dense CPU tensors,
/// parameters float32, and stay the same tensors for life.
struct TorchModule {
  std::shared_ptr<torch::nn::Module> module;
  std::function<torch::Tensor(const torch::Tensor&)>
      forward;                 ///< inputs [rows, ...] to logits [rows, classes]
  bool random = false;         ///< draws random numbers that are not from a Dropout module (those are found)
  bool mixes_samples = false;  ///< looks across samples other than by a BatchNorm module (those are found)
};

/// A TorchModule from a module that has `torch::Tensor forward(torch::Tensor)`.
template <class M>
TorchModule torch_module(std::shared_ptr<M> module) {
  auto forward = [raw = module.get()](const torch::Tensor& input) { return raw->forward(input); };
  return TorchModule{std::move(module), std::move(forward)};
}

enum class TorchLoss {
  cross_entropy,  ///< sum over the rows of log-softmax and negative log-likelihood; labels are int64
};

/// `build` makes a fresh module with freshly drawn weights; it is called once at once, and once for each
/// initialize(), with libtorch's default generator seeded. It must build the same thing each time.
///
/// Batch: tensors[0] float32 [rows, ...], tensors[1] int64 [rows]. Only the first `rows` rows are handed to
/// the module, so padding cannot touch a bit of the result. Metrics: the sum of the loss, the number of rows
/// whose largest logit is the label's (the first of equals).
///
/// State: named_parameters(), then named_buffers(), in declared order and with their dotted names; integer
/// buffers are kept as float32 (exact up to 2^24). Random modules draw from a seed made of the StepKey.
///
/// Threads: one object is used by one thread at a time; several objects may be used at once. Modules that
/// draw random numbers take turns, for libtorch has one generator for all. The first model of a process sets
/// libtorch to deterministic algorithms and tells malloc to keep large freed blocks (activations) instead of
/// handing them back after each use.
///
/// Errors: Error (fix_job) for a batch that does not fit or a label out of range, Error (give_up) with
/// libtorch's words for what libtorch throws. Throws at once for a device other than "cpu".
std::unique_ptr<Model> make_torch_model(std::function<TorchModule()> build, TorchLoss loss,
                                        const ModelContext& context);

}  // namespace muster
