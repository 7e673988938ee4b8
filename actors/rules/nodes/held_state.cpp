#include "actors/rules/nodes/held_state.hpp"

#include <algorithm>

namespace muster {

std::set<std::uint32_t> replicas_left(const NodeTable& nodes) {
  std::set<std::uint32_t> slots;
  for (const auto& [name, record] : nodes) {
    if (nodes.view().holds(name) && !name.loader && !gone(record)) slots.insert(name.slot);
  }
  return slots;
}

std::vector<NodeName> newcomers_with_state(const NodeTable& nodes) {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes) {
    const bool has_it = record.stage == NodeStage::closed || record.stage == NodeStage::caught_up;
    if (!name.loader && has_it && !record.leaving && !nodes.view().holds(name)) names.push_back(name);
  }
  return names;
}

std::uint32_t latest_view_taken(const NodeTable& nodes) {
  const std::set<std::uint32_t> left = replicas_left(nodes);
  // Members give nothing before they have gone back themselves.
  if (left.empty() && !newcomers_with_state(nodes).empty()) return nodes.view().number;
  std::uint32_t latest = 0;
  for (const std::uint32_t slot : left) latest = std::max(latest, nodes.at({false, slot}).held.took);
  return latest;
}

bool all_is_trained(const NodeTable& nodes) {
  const bool none_left = replicas_left(nodes).empty();
  return std::ranges::any_of(nodes, [&](const auto& node) {
    const auto& [name, record] = node;
    return !name.loader && record.held.trained && alive(record) && (none_left || nodes.view().holds(name));
  });
}

}  // namespace muster
