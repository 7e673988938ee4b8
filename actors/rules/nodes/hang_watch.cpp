#include "actors/rules/nodes/hang_watch.hpp"

#include <algorithm>

namespace muster {

bool plane_stands_still(const NodeRecord& record, std::chrono::milliseconds patience) {
  return record.last.still >= patience;
}

NodeName who_holds_up(const NodeTable& nodes, const std::vector<NodeName>& open,
                      std::chrono::milliseconds patience) {
  const auto& all = nodes.all();
  const auto still = std::find_if(all.rbegin(), all.rend(), [&](const auto& node) {
    return is_member(node.second) && plane_stands_still(node.second, patience);
  });
  return still == all.rend() ? open.back() : still->first;
}

std::vector<NodeName> hanging_members(const NodeTable& nodes, std::chrono::milliseconds stuck_after,
                                      bool in_parts) {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes) {
    if (!is_member(record) || !nodes.view().holds(name)) continue;
    const bool owes = in_parts || record.stage != NodeStage::done;
    if (record.last.hangs >= stuck_after && owes) names.push_back(name);
  }
  return names;
}

std::vector<NodeName> stalled_replicas(const NodeTable& nodes, std::chrono::milliseconds stuck_after) {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes) {
    if (name.loader || !is_member(record) || !nodes.view().holds(name) || record.stage == NodeStage::done)
      continue;
    // Others watch over loaders; but nobody serves one whose own data plane takes nothing.
    const LastHeartbeat& last = record.last;
    const bool is_served = last.work.waits_for_data() && !nodes.view().loaders.empty();
    const auto stands_for = is_served ? last.hangs : std::max(last.hangs, last.work.stands_for());
    if (stands_for >= stuck_after) names.push_back(name);
  }
  return names;
}

}  // namespace muster
