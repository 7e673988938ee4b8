// One run from one seed: the plan, the cluster, the faults, the invariants, and what came of it.
#pragma once

#include <iosfwd>
#include <string>

#include "muster/actors/registry.hpp"
#include "tests/simulation/plan.hpp"
#include "tests/simulation/rules.hpp"
#include "tests/simulation/tally.hpp"

namespace muster::simulation {

struct RunResult {
  std::uint64_t seed = 0;
  Wrong wrong;
  Tally tally;
  std::uint64_t hash = 0;        ///< of the course of things
  std::uint64_t deliveries = 0;  ///< messages and timed events
  Nanoseconds virtual_time{0};
};

/// `trace` may be null: where a readable story of the run goes.
RunResult run_seed(std::uint64_t seed, const PlanOptions& options, const Registry& registry,
                   std::ostream* trace);

/// Runs a seed, and every sixteenth one twice: both must take the same course.
RunResult run_seed_checked(std::uint64_t seed, const PlanOptions& options, const Registry& registry,
                           std::ostream* trace);

}  // namespace muster::simulation
