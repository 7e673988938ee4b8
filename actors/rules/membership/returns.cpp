#include "actors/rules/membership/returns.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace muster {

void Returns::wait_for(const View& view) {
  NodeTable::Map members;
  std::map<NodeName, std::uint32_t> known;  // of those who are here: they may be in an older view yet
  for (const auto* all : {&view.replicas, &view.loaders}) {
    for (const Member& member : *all) {
      if (nodes_.lives(member.name, member.incarnation)) {
        members[member.name] = nodes_.at(member.name);
        known[member.name] = nodes_.at(member.name).view.number;
      }
      members[member.name].process.incarnation = member.incarnation;
    }
  }
  nodes_.all() = std::move(members);
  nodes_.enter(view);
  for (const auto& [name, number] : known) nodes_.at(name).view.number = number;
}

bool Returns::expects(const NodeName& name, std::uint64_t incarnation) const {
  const NodeRecord* record = nodes_.find(name);
  return record && record->member && record->process.incarnation == incarnation &&
         record->stage == NodeStage::expected;
}

std::vector<NodeName> Returns::missing() const {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes_) {
    if (record.member && record.stage == NodeStage::expected) names.push_back(name);
  }
  return names;
}

bool Returns::any_replica_is_back() const {
  return std::ranges::any_of(nodes_, [](const auto& node) {
    return !node.first.loader && node.second.member && alive(node.second);
  });
}

std::string Returns::adopt(const Adopt& message) {
  const Join& join = message.join;
  const NodeRecord* known = nodes_.find(join.name);
  if (known && known->stage == NodeStage::lost && known->process.incarnation == join.incarnation)
    return "evicted while it could not be told; it may join again";
  if (!expects(join.name, join.incarnation))
    return join.name.text() + " is no member of the last view; it may join again";
  NodeRecord& record = nodes_.at(join.name);
  record.stage = NodeStage::installed;
  record.prepared = message.prepared;
  record.prepared.name = join.name;
  record.process.host = join.host;
  if (std::string reason = fit_.misfit(join.name); !reason.empty()) {
    record.stage = NodeStage::expected;
    return reason;
  }
  record.process.pid = join.pid;
  record.process.launched = join.launched;
  record.process.address = join.address;
  record.process.device = join.device;
  record.announced = true;
  reconnected(message);
  return {};
}

void Returns::reconnected(const Adopt& message) {
  KnownView& view = nodes_[message.join.name].view;
  view.number = message.view.number;
  view.begun = message.begun;
}

}  // namespace muster
