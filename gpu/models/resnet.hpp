// The built-in model `resnet18`. No libtorch in this header. What makes the model is in libmuster_torch
// (gpu/models/torch_back_end.hpp), the options are in libmuster.
#pragma once

#include <memory>
#include <vector>

#include "muster/model.hpp"
#include "muster/options.hpp"

namespace muster {

/// `channels`, `classes`, `side`, `width`.
std::vector<OptionSpec> resnet18_options();

/// ResNet-18 (He and others 2015, "Deep residual learning for image recognition") in its form for small
/// images: a 3x3 convolution and no max-pooling in front, four stages of two blocks, `width`, 2, 4 and 8
/// times `width` channels, the mean over the image, a linear layer. Each convolution is followed by batch
/// normalization: running statistics are buffers, and samples mix. With 3 channels, 10 classes and width 64:
/// 11,173,962 parameters. Tensors are named as in torchvision.
///
/// Batch: float32 [rows, channels, side, side], int64 labels [rows].
std::unique_ptr<Model> make_resnet18(const Options& options, const ModelContext& context);

}  // namespace muster
