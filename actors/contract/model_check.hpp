// Whether a model keeps the contract of muster/model.hpp, found by calling it with a few samples on the host.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "actors/contract/breach.hpp"
#include "muster/model.hpp"

namespace muster {

/// What a model is tried with. Owns nothing.
struct ModelTrial {
  Model& model;
  std::span<const float> state;  ///< initial weights; host memory
  const Batch& batch;            ///< samples of the job's data, at least one
  std::string key;               ///< of the job: "model.name", "model.file", "model.library"
  std::uint64_t seed = 1;
  bool bfloat16 = false;        ///< the model was made for mixed precision: rounding is coarser
  bool pads = false;            ///< the job has padded batches
  bool needs_finite = true;     ///< a loss or gradient that is not finite would end the job
  bool may_split = true;        ///< the model may be given parts of a batch; not of a ready-made one
  std::uint64_t steps = 1;      ///< of the job, as far as is known
  const Batch* test = nullptr;  ///< samples to evaluate; null: the job evaluates nothing
  bool given_state = false;     ///< `state` is from a file, and not what the model begins with
  std::string inputs = {};  ///< the job's key for the numbers in a sample: "model.inputs = 50"; may be empty
};

/// The first broken promise. The gradient is written whole and within its bounds, is finite, is a sum over
/// samples (Metrics and weight, too), and has the same bits after other calls and on another thread;
/// `gradient_in_parts` gives the same; the state stays; `evaluate` gives a sum. Takes two vectors of the
/// state's size. Throws what the model throws.
std::optional<Breach> check_model(const ModelTrial& trial, ContractLog& log);

/// Finite differences of the loss along each tensor's gradient, against the gradient: `tensors_max` tensors,
/// the largest first. What differs is named as a wrong sign or a factor where it is one. A gradient that is 0
/// everywhere is held against a loss that changes. Takes two vectors more.
std::optional<Breach> check_gradient_by_differences(const ModelTrial& trial, std::size_t tensors_max,
                                                    ContractLog& log);

}  // namespace muster
