// Who computes what a late replica owes: a pure rule. A backup task is a whole node of the late replica's
// cover in the canonical tree, so that either answer, its own or the helper's, is the same operand of the
// sum.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transport/collective/sums/canonical_tree.hpp"

namespace muster {

/// A replica that has handed in its own part, and waits.
struct Helper {
  std::uint32_t slot = 0;
  double seconds_per_shard = 0;  ///< 0: unknown
};

/// A replica that has not, and its shards [begin, end).
struct LateReplica {
  std::uint32_t slot = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

struct BackupTask {
  std::uint32_t helper = 0;
  std::uint32_t instead_of = 0;
  NodeId node = 0;
  std::uint32_t begin = 0;  ///< the shards below the node
  std::uint32_t end = 0;

  bool operator==(const BackupTask&) const = default;
};

/// Deals every node of every late replica, largest first, to the helper that would be through with it first;
/// who is late is no helper. Nothing without helpers. Among equals the lower slot, the lower shard.
std::vector<BackupTask> assign_backup_tasks(std::uint32_t shards, const std::vector<LateReplica>& late,
                                            std::vector<Helper> helpers);

}  // namespace muster
