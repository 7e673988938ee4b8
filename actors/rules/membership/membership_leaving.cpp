// Who may go of those that asked to leave.
#include <algorithm>

#include "actors/rules/membership/membership.hpp"
#include "actors/rules/steps/parts.hpp"

namespace muster {

bool Membership::any_replica_stays() const {
  return std::ranges::any_of(nodes_, [this](const auto& node) {
    const bool comes = node.second.stage != NodeStage::joined || !node.second.late;
    return !node.first.loader && !node.second.leaving && alive(node.first) && comes;
  });
}

bool Membership::may_let_go() const {
  const auto any_member = [this](const auto& fits) {
    return std::ranges::any_of(nodes_, [&](const auto& node) {
      return !node.first.loader && alive(node.first) && view_.holds(node.first) && fits(node.second);
    });
  };
  if (!any_member([](const NodeRecord& record) { return record.held_back; })) return false;
  return any_member([](const NodeRecord& record) { return !record.leaving; }) || !any_replica_stays();
}

// Of those who asked to leave: without them the state, or a part of it, would be lost. In the next view parts
// are dealt anew, and then they can go. Newcomers may be given the state by them; where nobody stays, nobody
// is held back. Nor does anybody go from a view whose first record some members have not come to: who leaves
// may be the one that keeps what they miss. Nor one that has applied a step of which none that stays has
// heard.
std::set<std::uint32_t> Membership::to_hold_back(const PartSource& source) const {
  std::set<std::uint32_t> left = replicas_left(), held_back;
  const bool some_miss_records = !view_.behind.empty() && took() < view_.number;
  std::optional<std::uint64_t> most;  // of those who stay
  for (const std::uint32_t slot : left) {
    const NodeRecord& record = at({false, slot});
    if (!record.leaving) most = std::max(most.value_or(0), record.records);
  }
  // Where none of them stays, the one goes last that has applied most.
  std::vector<std::uint32_t> in_turn;
  if (any_replica_stays()) in_turn.assign(left.begin(), left.end());
  std::ranges::stable_sort(in_turn, {}, [this](std::uint32_t slot) { return at({false, slot}).records; });
  for (const std::uint32_t slot : in_turn) {
    if (!at({false, slot}).leaving) continue;
    left.erase(slot);
    const bool ahead = most && at({false, slot}).records > *most;
    const bool needed = left.empty() || ahead || (in_parts_ && lost_part(source, left).has_value());
    if (!needed && !some_miss_records) continue;
    left.insert(slot);
    held_back.insert(slot);
  }
  return held_back;
}

}  // namespace muster
