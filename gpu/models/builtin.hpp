// The small classifiers that Muster brings along, through the libtorch back end. No libtorch in this header.
// What makes models is in libmuster_torch (gpu/models/torch_back_end.hpp), the options are in libmuster.
#pragma once

#include <memory>
#include <vector>

#include "muster/model.hpp"
#include "muster/options.hpp"

namespace muster {

/// `sizes`: inputs, hidden layers, classes.
std::vector<OptionSpec> mlp_options();

/// Fully connected layers with ReLU between them. Batch: float32 [rows, ...] with sizes[0] numbers a row,
/// int64 labels [rows]. Throws JobError (model.sizes) for fewer than two sizes.
std::unique_ptr<Model> make_mlp(const Options& options, const ModelContext& context);

/// None.
std::vector<OptionSpec> fashion_cnn_options();

/// Two 3x3 convolutions with padding 1 (1 to 32, 32 to 64 channels), each with ReLU and 2x2 max-pooling;
/// linear 3136 to 128 with ReLU; linear 128 to 10: 421,642 parameters. Batch: float32 [rows, 1, 28, 28],
/// int64 labels [rows] in 0..9.
std::unique_ptr<Model> make_fashion_cnn(const Options& options, const ModelContext& context);

}  // namespace muster
