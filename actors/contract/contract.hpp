// The contract check of a job: whether its model and its sources keep what muster/model.hpp and
// muster/source.hpp ask of them. Run before anything trains, and by `muster check` at length.
#pragma once

#include <chrono>
#include <optional>

#include "actors/contract/breach.hpp"
#include "actors/trainer/trainer_state.hpp"

namespace muster {

struct ContractScope {
  std::chrono::milliseconds budget{500};  ///< no check begins later
  std::uint64_t positions = 8;            ///< of each source, at random, beside the first and the last one
  std::uint32_t rows_max = 2;             ///< samples that the model is tried with
  std::uint32_t tensors_max = 0;          ///< whose gradient is held against finite differences
  bool opens_generators = false;
  bool computes_for_gpus = false;  ///< on the host, where all replicas compute on GPUs

  /// Nothing is checked but the layout.
  static ContractScope none() { return {.budget = std::chrono::milliseconds(0)}; }

  /// What `muster check` does.
  static ContractScope at_length();
};

/// The key of the job that names the model: "model.name", "model.file", "model.library".
std::string key_of(const ModelConfig& model);

/// The first broken promise of the sources. The trainer state loads, and has its model.
std::optional<Breach> check_sources(TrainerState& trainer, const ContractScope& scope, ContractLog& log);

/// The first broken promise of the model, if a first micro-batch can be read without opening a generator, or
/// with it if the scope says so. The trainer state computes on the host, and loads. Takes at most ten vectors
/// of the state's size. What the model throws is a broken promise, too, but for JobError, which is thrown on.
std::optional<Breach> check_model(TrainerState& trainer, const ContractScope& scope, ContractLog& log);

}  // namespace muster
