// Models from TorchScript files. No libtorch in this header. What makes the model is in libmuster_torch
// (gpu/models/torch_back_end.hpp), the options are in libmuster.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "muster/model.hpp"
#include "muster/options.hpp"

namespace muster {

/// `loss`, `input`.
std::vector<OptionSpec> script_options();

/// The module that torch.jit.save wrote to `path`; the initial state is the one in the file, whatever the
/// seed. `forward` takes one tensor and returns the logits (TorchLoss says of which shapes); `input` is the
/// shape of one sample, or for next_token the number of tokens that a sample predicts. Parameters that do not
/// require a gradient, and buffers, are buffers here. Modules with a class named *BatchNorm* in them mix
/// samples; all are taken to draw random numbers. The graph runs as it was saved, without the optimizations
/// that libtorch makes after its first calls: nothing promises that these change no bit.
///
/// `sha256`: what the content must be; empty: any. Throws JobError (model.file) for a file that is no
/// TorchScript module, holds no float32 parameters to train, or has another content; JobError (model.input)
/// where the module does not take such samples, or gives no logits for them. Tries it with two samples of
/// zeros.
std::unique_ptr<Model> make_script_model(const std::string& path, const std::string& sha256,
                                         const Options& options, const ModelContext& context);

}  // namespace muster
