// A plan: all that one seed decides before a run begins.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "muster/job.hpp"
#include "tests/simulation/cluster.hpp"
#include "tests/simulation/faults.hpp"

namespace muster::simulation {

struct PlanOptions {
  std::optional<std::uint32_t> nodes;  ///< replicas; none: drawn
  std::vector<std::string> faults;     ///< kinds that may happen
};

struct Plan {
  std::uint64_t seed = 0;
  Job job;
  ClusterOptions cluster;
  std::vector<Fault> faults;
  bool disk = false;        ///< checkpoints go to a disk, a new one in each run
  bool keeps = false;       ///< the run ends with a checkpoint, where it does not complete
  bool completes = false;   ///< whatever happens in it; else the run may fail where the rules excuse it
  Nanoseconds patience{0};  ///< something must happen within this time while no fault lasts

  std::string text() const;  ///< for people, one line each
};

/// A coordinator that is cut off while it gives a number, and then finds an older journal, cannot know that
/// it has given it: the one newcomer that has it is refused when it is back, and joins again.
bool may_give_a_number_twice(const std::vector<Fault>& faults);

/// How often the job audits, and wrong bits.
void draw_bits(std::uint64_t seed, const PlanOptions& options, Plan& plan);

/// The same options and the same seed give the same plan, on every machine.
Plan draw_plan(std::uint64_t seed, const PlanOptions& options);

}  // namespace muster::simulation
