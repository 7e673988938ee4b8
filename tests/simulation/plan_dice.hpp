// The dice that a plan is drawn with: own ones for each decision, so that a change to one leaves the others
// as they are.
#pragma once

#include <cstdint>

#include "tests/simulation/faults.hpp"

namespace muster::simulation {

/// A decision. Two with the same number would always be drawn alike, so nobody writes the numbers.
enum class DiceOf : std::uint64_t {
  plan,
  many_replicas,
  long_lag,
  borrows,
  suspended,
  straggler_action,
  algorithm,
  sharding,
  compression,
  clipping,
  join_share,
  gpus,
  ending,
  not_finite,
  on_loss,
  pace_of_disks,
  unlike,
  orphan_after,
  start,
  idle_threads,
  bits,
  together,
  swarm,
  near_plan,
};

inline Dice dice_of(std::uint64_t seed, DiceOf decision) {
  constexpr std::uint64_t kFirst = 1000;  // smaller ones are taken: plan_loaders.cpp, run_seed.cpp
  return Dice(seed * 0x2545f4914f6cdd1dull + kFirst + static_cast<std::uint64_t>(decision));
}

}  // namespace muster::simulation
