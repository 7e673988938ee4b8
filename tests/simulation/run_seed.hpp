// One run of one plan: the cluster, the faults, the invariants, and what came of it.
#pragma once

#include <iosfwd>
#include <string>

#include "muster/registry.hpp"
#include "tests/simulation/invariant_rules.hpp"
#include "tests/simulation/plan.hpp"
#include "tests/simulation/tally.hpp"

namespace muster::simulation {

struct RunResult {
  std::uint64_t seed = 0;
  Wrong wrong;
  Tally tally;
  std::uint64_t hash = 0;        ///< of the sequence of events
  std::uint64_t deliveries = 0;  ///< messages and timed events
  Nanoseconds virtual_time{0};
};

/// `trace` may be null: where a readable story of the run goes.
RunResult run_plan(const Plan& plan, const Registry& registry, std::ostream* trace);

/// Runs a plan, and that of every sixteenth seed twice: both must take the same sequence of events.
RunResult run_plan_checked(const Plan& plan, const Registry& registry, std::ostream* trace);

}  // namespace muster::simulation
