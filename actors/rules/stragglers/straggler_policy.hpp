// What each cluster.straggler.action does about a replica that holds up a step. Every decision that depends
// on the action reads it here. A pure rule.
#pragma once

#include <cstddef>

#include "muster/job.hpp"

namespace muster {

struct StragglerPolicy {
  StragglerAction action = StragglerAction::wait;
  bool step_waits = true;     ///< for its gradients; else the step goes on without them: ClusterWatch::drop
  bool evicts = false;        ///< it counts as lost; so does a late loader process that is not the last one
  bool moves_shards = false;  ///< to faster replicas, in a new view: Shedding
  /// Others compute its shards as well, and add up for it: StallWatch::backup_tasks. Then no replica audits
  /// another one, and sums do not lie on GPUs.
  bool backup_tasks = false;
  bool same_bits = true;  ///< the weights are those of a run in which nobody was late
};

// clang-format off
inline constexpr StragglerPolicy kStragglerPolicies[] = {
    // action                     step_waits  evicts  moves_shards  backup_tasks  same_bits
    {StragglerAction::wait,       true,       false,  false,        false,        true},
    {StragglerAction::evict,      true,       true,   false,        false,        true},
    {StragglerAction::shed,       true,       false,  true,         false,        true},
    {StragglerAction::speculate,  true,       false,  false,        true,         true},
    {StragglerAction::drop,       false,      false,  false,        false,        false},
};
// clang-format on

constexpr const StragglerPolicy& straggler_policy(StragglerAction action) {
  return kStragglerPolicies[static_cast<std::size_t>(action)];
}

inline const StragglerPolicy& straggler_policy(const ClusterConfig& cluster) {
  return straggler_policy(cluster.straggler.action);
}

}  // namespace muster
