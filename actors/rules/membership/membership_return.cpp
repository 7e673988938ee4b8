// Members that come back: to a coordinator that was started anew, or over a new connection.
#include <algorithm>

#include "actors/rules/membership/membership.hpp"

namespace muster {

bool Membership::expects(const NodeName& name, std::uint64_t incarnation) const {
  const NodeRecord* record = find(name);
  return record && record->member && record->incarnation == incarnation &&
         record->stage == NodeStage::expected;
}

bool Membership::lives(const NodeName& name, std::uint64_t incarnation) const {
  return alive(name) && at(name).incarnation == incarnation;
}

std::string Membership::adopt(const Adopt& message) {
  const NodeName& name = message.join.name;
  const NodeRecord* known = find(name);
  if (known && known->stage == NodeStage::lost && known->incarnation == message.join.incarnation)
    return "evicted while it could not be told; it may join again";
  if (!expects(name, message.join.incarnation))
    return name.text() + " is no member of the last view; it may join again";
  NodeRecord& record = nodes_[name];
  record.stage = NodeStage::installed;
  record.prepared = message.prepared;
  record.prepared.name = name;
  record.host = message.join.host;
  if (std::string reason = misfit(name); !reason.empty()) {
    record.stage = NodeStage::expected;
    return reason;
  }
  record.pid = message.join.pid;
  record.launched = message.join.launched;
  record.address = message.join.address;
  record.device = message.join.device;
  record.announced = true;
  returned(message);
  return {};
}

void Membership::returned(const Adopt& message) {
  NodeRecord& record = nodes_[message.join.name];
  record.in_view = message.view.number;
  record.begun = message.begun;
}

void Membership::entered_before(const View& view, const FreeNumbers& free) {
  std::map<NodeName, NodeRecord> members;
  std::map<NodeName, std::uint32_t> in_view;  // of those who are here: they may be in an older one yet
  for (const auto* all : {&view.replicas, &view.loaders}) {
    for (const Member& member : *all) {
      if (lives(member.name, member.incarnation)) {
        members[member.name] = at(member.name);
        in_view[member.name] = at(member.name).in_view;
      }
      members[member.name].incarnation = member.incarnation;
      free_.beyond(member.name);
    }
  }
  nodes_ = std::move(members);
  free_.beyond(free);
  entered(view);
  for (const auto& [name, number] : in_view) nodes_[name].in_view = number;
}

std::vector<NodeName> Membership::not_returned() const {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes_) {
    if (record.member && record.stage == NodeStage::expected) names.push_back(name);
  }
  return names;
}

bool Membership::some_replica_returned() const {
  return std::ranges::any_of(nodes_, [this](const auto& node) {
    return !node.first.loader && node.second.member && alive(node.first);
  });
}

}  // namespace muster
