// Who is left of those that hold the state of the run, and how much of it: pure rules.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "actors/rules/nodes/node_table.hpp"

namespace muster {

/// The replicas of the view that are not gone, by their slots.
std::set<std::uint32_t> replicas_left(const NodeTable& nodes);
/// Newcomers that were given all of it: those who gave it may be gone.
std::vector<NodeName> newcomers_with_state(const NodeTable& nodes);
/// The latest view of which a member that is left has taken a record; where none is left, that in which
/// newcomers were given the state.
std::uint32_t latest_view_taken(const NodeTable& nodes);
/// No round is left behind what a member that is left holds.
bool all_is_trained(const NodeTable& nodes);

}  // namespace muster
