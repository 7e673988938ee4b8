// The model "linear": y = W x + b with the sum of squared errors. Small enough to follow by hand; plain loops
// in a fixed order, so its bits are the same on every machine that has IEEE float32.
#pragma once

#include <memory>
#include <vector>

#include "muster/model.hpp"
#include "muster/options.hpp"

namespace muster {

/// `inputs` and `outputs`, the sizes of x and y.
std::vector<OptionSpec> linear_options();

/// Batch: tensors[0] float32 [rows, inputs], tensors[1] float32 [rows, outputs]. State: weight [outputs,
/// inputs], bias [outputs]. The initial state is uniform in +-1/sqrt(inputs), from splitmix64 of the seed.
/// check_batch(), gradient() and evaluate() throw JobError on a batch of other shapes.
std::unique_ptr<Model> make_linear(const Options& options, const ModelContext& context);

}  // namespace muster
