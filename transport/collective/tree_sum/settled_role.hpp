// What a member adds up of the ranges of one owner, once it is known which shards are present in a round.
// Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/collective/sums/canonical_tree.hpp"
#include "transport/collective/sums/sum_plan.hpp"

namespace muster {

struct SettledRole {
  /// One node, and those inputs below it that are present.
  struct Addition {
    NodeId node = 0;
    FoldProgram program;
    std::vector<std::uint32_t> inputs;  ///< of the program's operands
  };

  std::uint32_t expected = 0;       ///< inputs that are present
  std::vector<bool> present;        ///< by input
  std::vector<Addition> additions;  ///< an owner adds up the root, all others what goes to the parent
};

/// `present`: by shard. Nothing is expected by a member that neither owns the ranges nor adds to them.
SettledRole settle_role(const SumPlan::Role& role, unsigned height, const std::vector<bool>& present);

}  // namespace muster
