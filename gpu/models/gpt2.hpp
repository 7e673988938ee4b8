// The built-in model `gpt2`. No libtorch in this header. What makes the model is in libmuster_torch
// (gpu/models/torch_back_end.hpp), the options are in libmuster.
#pragma once

#include <memory>
#include <vector>

#include "muster/model.hpp"
#include "muster/options.hpp"

namespace muster {

/// `layers`, `heads`, `width`, `context`, `vocabulary`, `dropout`.
std::vector<OptionSpec> gpt2_options();

/// The decoder of GPT-2 (Radford and others 2019, "Language models are unsupervised multitask learners"):
/// learned positions, `layers` blocks of causal attention and a perceptron four times as wide, with layer
/// normalization in front of each and at the end, GELU in its tanh form; the embedding is the head, too. The
/// defaults are the smallest of the published ones, of 124,439,808 parameters. Tensors are named as there
/// (wte, wpe, h.0.attn.c_attn, ...), and linear weights are [outputs, inputs].
///
/// Batch: int64 [rows, up to context + 1] tokens, as make_tokens (the `tokens` source) hands them out. Its
/// weight is the number of predicted tokens; metrics are sums over them.
///
/// Throws JobError (model.heads) where the heads do not share out the width.
std::unique_ptr<Model> make_gpt2(const Options& options, const ModelContext& context);

}  // namespace muster
