// Members that live, and one of whose threads does nothing, as their heartbeats say: pure rules.
#pragma once

#include <chrono>
#include <vector>

#include "actors/rules/nodes/node_table.hpp"

namespace muster {

/// Whether its data plane has done nothing for as long as that since it was told to close or to install the
/// view, as its node says.
bool plane_stands_still(const NodeRecord& record, std::chrono::milliseconds patience);
/// The member that those, not none, wait for: one whose data plane stands still, else the last of them.
NodeName who_holds_up(const NodeTable& nodes, const std::vector<NodeName>& open,
                      std::chrono::milliseconds patience);
/// The replicas of the view one of whose threads has done nothing for so long, and its loaders whose data
/// planes have; a loader's other thread is watched by those who wait for it. `in_parts`: a replica that is
/// done owes its part of the state, for the last checkpoint.
std::vector<NodeName> hanging_members(const NodeTable& nodes, std::chrono::milliseconds stuck_after,
                                      bool in_parts);
/// Replicas of the view that hang, and those that have waited for so long for data that they read themselves.
std::vector<NodeName> stalled_replicas(const NodeTable& nodes, std::chrono::milliseconds stuck_after);

}  // namespace muster
