// Sentences of the coordinator for people, computed from what it knows.
#pragma once

#include <string>
#include <vector>

#include "actors/coordinator/states/checkpoints/suspect_steps.hpp"
#include "actors/messages/reach_messages.hpp"
#include "actors/messages/view.hpp"
#include "actors/rules/membership/membership.hpp"
#include "config/placement.hpp"

namespace muster {

/// Of a replica that would have to load for itself.
inline constexpr const char* kCannotRead = "it cannot read the data itself, and no loader process came";

/// Of a run that was to go on from the checkpoint of this view, and whose coordinator ended before that.
std::string why_resume(const View& view);
/// Why all go back before steps that are suspected.
std::string why_suspected(const SuspectSteps& suspects);
/// One node does not reach another one's port of data. `ports`: cluster.data_ports.
std::string why_not_reached(const Membership& membership, const std::string& ports, const NodeName& from,
                            const NotReached& closed);
/// "; the link is between replica 0 on host1 (10.0.0.1), which takes data at 10.0.0.1:7201, and replica 1
/// ...". Empty if they share a host.
std::string link_ends(const NodeTable& nodes, const NodeName& one, const NodeName& other);
/// Before the first view: nobody came for ten times cluster.start_patience; who is here, who is missing, what
/// to do.
std::string why_not_begun(const Job& job, const Membership& membership);
/// "0-3 - 4-7": who has which shards, by slot.
std::string text_of(const std::vector<ShardInterval>& deal);

}  // namespace muster
