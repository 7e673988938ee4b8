// Bits of one process that are not what they must be: what a bad memory or another processor does to a
// replica.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "actors/trainer/trainer_state.hpp"

namespace muster::simulation {

/// Shared by what a process is made of. Everything is on the one thread of the simulation.
struct WrongBits {
  enum class Flip { none, weights, result };

  static constexpr std::uint32_t kUlp = 1, kMuch = 1 << 16;

  std::uint32_t odd = 0;     ///< a bit by which gradients differ from those of other replicas, from now on
  bool at_times = false;     ///< not all of them: about half
  Flip flip = Flip::none;    ///< once, when the next record of a step has come, before it is applied
  std::uint64_t chosen = 0;  ///< which element, and which bit of it
  std::function<void()> flipped = [] {};  ///< called when that has happened
  std::uint64_t gradients = 0;            ///< computed since `at_times`

  /// What the next gradient is changed by.
  std::uint32_t next_odd();
  void record_has_come(TrainerState& trainer, const RoundRecord& record);
};

/// The linear model, as this process computes it.
std::unique_ptr<Model> make_odd_linear(std::shared_ptr<WrongBits> bits, const Options& options,
                                       const ModelContext& context);

}  // namespace muster::simulation
