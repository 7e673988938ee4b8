// What a plan decides of loader processes; from dice of its own.
#pragma once

#include "tests/simulation/plan.hpp"

namespace muster::simulation {

/// How many loaders, and what follows when the last one is lost; of a job that has some.
void draw_loaders(std::uint64_t seed, Job& job);

/// One job in five reads from generators or ready-made batches (sources.hpp).
void draw_source(std::uint64_t seed, Job& job);

/// A thread that stands still is found after cluster.straggler.stuck_after: sooner than a plan ends.
void draw_stuck_after(std::uint64_t seed, Plan& plan);

}  // namespace muster::simulation
