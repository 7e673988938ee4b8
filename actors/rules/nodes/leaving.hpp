// Who may go of those that asked to leave: pure rules.
#pragma once

#include <cstdint>
#include <set>

#include "actors/messages/view.hpp"
#include "actors/rules/nodes/node_table.hpp"

namespace muster {

/// Of the view or newcomers: one lives, and did not ask to leave.
bool any_replica_stays(const NodeTable& nodes);
/// Every replica of the view that is left has asked to leave.
bool all_leave(const NodeTable& nodes);
/// Whether a member that was held back can go, once a step is done: another one stays in the view and has the
/// parts now, or nobody stays at all.
bool may_let_go(const NodeTable& nodes);
/// Of those who asked to leave: without them the state, or a part of it, would be lost.
/// `source`: where the parts are, if the state is held in parts.
std::set<std::uint32_t> to_hold_back(const NodeTable& nodes, const PartSource* source);

}  // namespace muster
