// Trouble with the disk of the checkpoints, runs that are told to end, and what no run survives.
#pragma once

#include <cstdint>

#include "tests/simulation/plan.hpp"

namespace muster::simulation {

/// One plan in five has trouble with the disk of its checkpoints, or is told to end, or both. A plan for few
/// kinds of faults has those of them.
void draw_ending(std::uint64_t seed, const PlanOptions& options, Plan& plan);
/// A step that is not finite ends the run, which keeps the weights before it.
void draw_not_finite(std::uint64_t seed, const PlanOptions& options, Plan& plan);

}  // namespace muster::simulation
