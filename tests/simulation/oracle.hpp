// The oracle: one process, one plain loop, no reducer, no tree code of the product, no actors. What it
// computes is what every run must end with.
#pragma once

#include <string>

#include "muster/actors/registry.hpp"
#include "muster/config/job.hpp"

namespace muster::simulation {

struct OracleResult {
  std::uint64_t steps = 0;
  std::string weights_sha256;
};

/// Trains the job to its end. For jobs with `epochs`, or with `steps` within `repeat`.
OracleResult train_plainly(const Job& job, const Registry& registry);

}  // namespace muster::simulation
