// Many seeds on all cores: each worker is a process of its own, so that a seed which ends its process (a
// failed check) is a finding like any other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/simulation/run_seed.hpp"

namespace muster::simulation {

struct Finding {
  std::uint64_t seed = 0;
  Wrong wrong;
};

struct Summary {
  std::uint64_t runs = 0;
  std::uint64_t deliveries = 0;
  Nanoseconds virtual_time{0};
  std::uint64_t hash = 0;  ///< of the hashes of all runs
  Tally tally;
  std::vector<Finding> findings;  ///< by seed
};

struct WorkOptions {
  std::uint64_t from = 1, to = 1;  ///< seeds, both included
  unsigned workers = 2;
  std::size_t findings_max = 5;  ///< no further seed is begun after so many
};

/// `run` is called in the workers, once for each seed.
Summary run_seeds(const WorkOptions& options, const std::function<RunResult(std::uint64_t)>& run);

}  // namespace muster::simulation
