// What members say of the bits that they have compared, as the coordinator keeps it.
#pragma once

#include <cstdint>
#include <vector>

#include "actors/rules/nodes/node_table.hpp"

namespace muster {

/// What a member says of the replicas of its view (Member::clean); nothing, if this is another one.
void gradients_compared(NodeTable& nodes, std::uint32_t view, const std::vector<std::uint64_t>& clean);
/// The weights of all members have been compared as a whole: whoever was given a state has a vote of its own.
void weights_compared(NodeTable& nodes);

}  // namespace muster
