// Checkpoints that a simulated run has left on its disk, held against the oracle.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/disk.hpp"
#include "muster/job.hpp"
#include "muster/registry.hpp"
#include "tests/simulation/invariant_rules.hpp"
#include "tests/simulation/oracle.hpp"

namespace muster::simulation {

struct WrongCheckpoint {
  Wrong wrong;  ///< its weights or its optimizer are not the oracle's at its step, or it cannot be read
  std::uint64_t step = 0;       ///< none: of one that cannot be read
  bool only_optimizer = false;  ///< is wrong, or what compression left out of gradients; not the weights
  bool differs = false;         ///< from another one of its step
};

struct CheckpointsChecked {
  std::uint64_t looked_at = 0;
  std::uint64_t of_no_worth = 0;  ///< by a verdict in their folder
  std::uint64_t differing = 0;    ///< steps with several that hold different weights
  std::vector<WrongCheckpoint> wrong;
};

/// Reads every whole checkpoint of the job.
CheckpointsChecked check_checkpoints(const Job& job, const Registry& registry, std::shared_ptr<Disk> disk,
                                     const OracleResult& oracle);

}  // namespace muster::simulation
