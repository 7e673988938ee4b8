// The `idx` source: labeled images in IDX files, MNIST's format.
#pragma once

#include <vector>

#include "muster/options.hpp"
#include "muster/source.hpp"

namespace muster {

/// The options that make_idx reads.
std::vector<OptionSpec> idx_options();

/// Reads all files into memory. Fields: the image, float32 [1, rows, columns], (pixel / 255 - mean) / std;
/// then the label, int64, a scalar. The test set is there when test_images and test_labels are given. Throws
/// JobError with the key of the file
/// ("data.train_images", ...) or option that is wrong.
Dataset make_idx(const Options& options);

}  // namespace muster
