#include "actors/rules/nodes/node_table.hpp"

#include <algorithm>

#include "config/values/address.hpp"

namespace muster {

void LastHeartbeat::heard(const Heartbeat& message) {
  samples = message.samples;
  step = message.step;
  if (!message.name.loader) work = work_of(message);
  const std::chrono::milliseconds now_still(message.still_ms);
  hangs = std::max(now_still, work.hangs_for());
  still = std::max(still, now_still);
}

const NodeRecord* NodeTable::find(const NodeName& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second;
}

NodeRecord* NodeTable::find(const NodeName& name) {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second;
}

bool NodeTable::alive(const NodeName& name) const {
  const NodeRecord* record = find(name);
  return record && muster::alive(*record);
}

bool NodeTable::member(const NodeName& name) const {
  const NodeRecord* record = find(name);
  return record && is_member(*record);
}

bool NodeTable::lives(const NodeName& name, std::uint64_t incarnation) const {
  return alive(name) && at(name).process.incarnation == incarnation;
}

bool NodeTable::none_alive() const {
  return std::ranges::none_of(nodes_, [](const auto& node) { return muster::alive(node.second); });
}

bool NodeTable::any_loader() const {
  return std::ranges::any_of(nodes_, [](const auto& node) {
    return node.first.loader && muster::alive(node.second) && !node.second.leaving;
  });
}

void NodeTable::heard(const Heartbeat& message) {
  NodeRecord* record = find(message.name);
  if (!record) return;
  if (message.step > record->last.step) record->passed_over = false;  // it has gone on
  record->last.heard(message);
}

void NodeTable::enter(const View& view) {
  view_ = view;
  for (const Member& member : view.loaders) {
    if (NodeRecord* record = find(member.name)) record->view.since = member.since;
  }
  for (const Member& member : view.replicas) {
    NodeRecord* record = find(member.name);
    if (!record) continue;
    record->view.since = member.since;
    record->bits.alone_from = member.alone_from;
    record->bits.clean = member.clean;
    record->bits.holds_of = member.holds_of;
  }
  for (auto& [name, record] : nodes_) {
    record.member = view.holds(name);
    record.last.view_entered();
    if (record.member) record.view.number = view.number;
    record.held_back = record.member && record.leaving;
    // Who was not taken in begins again with a state from a member of the new view.
    if (!record.member && !name.loader &&
        (record.stage == NodeStage::caught_up || record.stage == NodeStage::closed)) {
      record.stage = NodeStage::prepared;
    }
  }
}

std::uint32_t NodeTable::ready(bool loader) const {
  return static_cast<std::uint32_t>(std::ranges::count_if(nodes_, [&](const auto& node) {
    const NodeRecord& record = node.second;
    return node.first.loader == loader && is_ready(record) && record.preparation.tried;
  }));
}

std::vector<NodeName> NodeTable::ready_besides(const NodeName& who) const {
  std::vector<NodeName> names;
  for (const auto& [name, other] : nodes_) {
    if (is_ready(other) && name != who) names.push_back(name);
  }
  return names;
}

std::vector<NodeName> NodeTable::ready_elsewhere(const NodeName& who) const {
  std::vector<NodeName> names = ready_besides(who);
  std::erase_if(names, [&](const NodeName& other) {
    return at(other).prepared.host == at(who).prepared.host || (who.loader && other.loader);
  });
  return names;
}

Member NodeTable::member_of(const NodeName& name) const {
  const NodeRecord& record = at(name);
  return {.name = name,
          .incarnation = record.process.incarnation,
          .address = record.prepared.address,
          .holds_of = record.bits.holds_of};
}

std::string NodeTable::name_at_host(const NodeName& who) const {
  const NodeProcess& process = at(who).process;
  if (process.host.empty()) return who.text();
  return who.text() + " on " + process.host + (process.address.empty() ? "" : " (" + process.address + ")");
}

std::string NodeTable::name_at_place(const NodeName& who) const {
  const NodeRecord* record = find(who);
  const bool is_far = record && !record->process.address.empty() && !is_loopback(record->process.address);
  return is_far ? name_at_host(who) : who.text();
}

std::string list_of(const std::vector<NodeName>& names) {
  std::string text;
  for (const NodeName& name : names) text += (text.empty() ? "" : ", ") + name.text();
  return text;
}

}  // namespace muster
