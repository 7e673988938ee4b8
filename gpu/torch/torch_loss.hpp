// How a batch becomes inputs and labels of a torch module, and logits a loss and its gradient.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "muster/model.hpp"
#include "muster/torch_model.hpp"

namespace muster {

/// The rows of a batch without its padding.
struct TorchRows {
  at::Tensor inputs;                 ///< a view of the batch where it is floats, else a tensor of its own
  std::vector<std::int64_t> labels;  ///< one for each row of the flattened logits; below 0: there is none
};

/// Throws JobError (model) for a batch that is not for this module.
TorchRows rows_of(const Batch& batch, const TorchModule& module, TorchLoss loss);

/// Number of labels in the batch.
double weight_of(const Batch& batch, TorchLoss loss);

/// Throws JobError (model) for a label that is not one of `outputs`.
void check_labels(const std::vector<std::int64_t>& labels, std::int64_t outputs);

/// The logits as [labels, outputs], which is what loss and gradient are of: float32, or what autocast made of
/// them. Throws Error for what is not.
at::Tensor flat_logits(const at::Tensor& logits, const TorchRows& rows, TorchLoss loss);

/// Sum of the cross-entropy over the labels, in float32 whatever the logits are: its value, and its slope for
/// the flat logits, of their type, where `grad` is asked for. The logits lie on the host.
Metrics cross_entropy(const at::Tensor& logits, const std::vector<std::int64_t>& labels, at::Tensor* grad);

/// The same on the device of the logits, in the order of its stream: float64 [loss, right answers], and the
/// gradient. `labels`: int64, on that device; `holes`: whether any is below 0.
at::Tensor cross_entropy_sums(const at::Tensor& logits, const at::Tensor& labels, bool holes,
                              at::Tensor* grad);

}  // namespace muster
