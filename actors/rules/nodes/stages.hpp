// How far nodes have come on the way to a view, and who is behind: pure rules.
#pragma once

#include <string>
#include <vector>

#include "actors/rules/nodes/node_table.hpp"

namespace muster {

/// Whether every member that is not lost, and has not left, stands at this stage. Before the first view every
/// node that the job starts is waited for like a member.
bool all_are(const NodeTable& nodes, NodeStage stage, bool replicas_only = false);
/// Nodes that are waited for and have not come as far as that.
std::vector<NodeName> nodes_behind(const NodeTable& nodes, NodeStage stage);
/// Those who have not reached the first stage on the way to a view that not all have reached.
std::vector<NodeName> nodes_behind(const NodeTable& nodes);
/// The first stage on the way to a view that not all nodes have reached; `installed` if all have.
NodeStage stage_behind(const NodeTable& nodes);
/// Members that have not closed the view yet.
std::vector<NodeName> not_closed(const NodeTable& nodes);
/// Members that have not been greeted by all others in the view that is being installed.
std::vector<NodeName> not_installed(const NodeTable& nodes);
/// All who are left are members that take part in this view, which is in force.
bool all_have_begun(const NodeTable& nodes, std::uint32_t view);

}  // namespace muster
