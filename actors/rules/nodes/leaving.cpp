#include "actors/rules/nodes/leaving.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "actors/rules/nodes/held_state.hpp"
#include "actors/rules/steps/parts.hpp"

namespace muster {

bool any_replica_stays(const NodeTable& nodes) {
  return std::ranges::any_of(nodes, [](const auto& node) {
    const auto& [name, record] = node;
    const bool comes = record.stage != NodeStage::joined || !record.preparation.late;
    return !name.loader && !record.leaving && alive(record) && comes;
  });
}

bool all_leave(const NodeTable& nodes) {
  const std::set<std::uint32_t> left = replicas_left(nodes);
  return !left.empty() && std::ranges::all_of(left, [&](std::uint32_t slot) {
    return nodes.at({false, slot}).leaving;
  });
}

bool may_let_go(const NodeTable& nodes) {
  const auto any_member = [&](const auto& fits) {
    return std::ranges::any_of(nodes, [&](const auto& node) {
      const auto& [name, record] = node;
      return !name.loader && alive(record) && nodes.view().holds(name) && fits(record);
    });
  };
  if (!any_member([](const NodeRecord& record) { return record.held_back; })) return false;
  return any_member([](const NodeRecord& record) { return !record.leaving; }) || !any_replica_stays(nodes);
}

// In the next view parts are dealt anew, and then they can go. Newcomers may be given the state by them;
// where nobody stays, nobody is held back. Nor does anybody go from a view whose first record some members
// have not come to: who leaves may be the one that keeps what they miss. Nor one that has applied a step of
// which none that stays has heard.
std::set<std::uint32_t> to_hold_back(const NodeTable& nodes, const PartSource* source) {
  const auto record_of = [&](std::uint32_t slot) -> const NodeRecord& { return nodes.at({false, slot}); };
  std::set<std::uint32_t> left = replicas_left(nodes), held_back;
  const bool some_miss_records =
      !nodes.view().behind.empty() && latest_view_taken(nodes) < nodes.view().number;
  std::optional<std::uint64_t> most;  // of those who stay
  for (const std::uint32_t slot : left) {
    if (!record_of(slot).leaving) most = std::max(most.value_or(0), record_of(slot).held.records);
  }
  // Where none of them stays, the one goes last that has applied most.
  std::vector<std::uint32_t> in_turn;
  if (any_replica_stays(nodes)) in_turn.assign(left.begin(), left.end());
  std::ranges::stable_sort(in_turn, {}, [&](std::uint32_t slot) { return record_of(slot).held.records; });
  for (const std::uint32_t slot : in_turn) {
    if (!record_of(slot).leaving) continue;
    left.erase(slot);
    const bool ahead = most && record_of(slot).held.records > *most;
    const bool needed = left.empty() || ahead || (source && lost_part(*source, left).has_value());
    if (!needed && !some_miss_records) continue;
    left.insert(slot);
    held_back.insert(slot);
  }
  return held_back;
}

}  // namespace muster
