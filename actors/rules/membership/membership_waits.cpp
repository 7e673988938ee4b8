// Who is waited for on the way from one view to the next.
#include <algorithm>

#include "actors/rules/membership/membership.hpp"

namespace muster {

std::uint32_t Membership::ready(bool loader) const {
  return static_cast<std::uint32_t>(std::ranges::count_if(nodes_, [&](const auto& node) {
    const NodeRecord& record = node.second;
    return node.first.loader == loader && alive(node.first) && record.stage >= NodeStage::prepared &&
           record.tried;
  }));
}

bool Membership::full() const {
  return ready(false) >= places_.replica && ready(true) >= places_.loader;
}

std::string Membership::missing_to_begin() const {
  const std::uint32_t here = ready(false);
  return here < min_replicas_ ? missing_replicas(here) : misses_loader(first_view());
}

std::string Membership::missing_replicas(std::uint64_t here) const {
  return std::to_string(min_replicas_ - here) +
         " more replicas (cluster.min_replicas = " + std::to_string(min_replicas_) + ")";
}

void Membership::drop_expected() {
  std::erase_if(nodes_, [](const auto& node) { return node.second.stage == NodeStage::expected; });
}

bool Membership::any_prepares() const {
  return std::ranges::any_of(nodes_, [](const auto& node) { return node.second.stage == NodeStage::joined; });
}

std::vector<NodeName> Membership::late_to_prepare(std::int64_t ticks) {
  std::vector<NodeName> names;
  for (auto& [name, record] : nodes_) {
    if (record.stage != NodeStage::joined || record.late || ++record.preparing_ticks < ticks) continue;
    record.late = true;
    names.push_back(name);
  }
  return names;
}

std::vector<NodeName> Membership::begin_close() {
  for (auto& [name, record] : nodes_) {
    if (record.stage == NodeStage::caught_up && !record.leaving) record.member = true;
    if (!record.member || gone(record)) continue;
    record.stage = NodeStage::prepared;  // whoever closed an older view has to close this one, too
    record.still = {};
  }
  return not_closed();
}

std::vector<NodeName> Membership::not_closed() const {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes_) {
    if (record.member && !gone(record) && record.stage != NodeStage::closed) names.push_back(name);
  }
  return names;
}

std::vector<NodeName> Membership::not_installed() const {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes_) {
    if (record.member && !gone(record) && record.stage != NodeStage::installed) names.push_back(name);
  }
  return names;
}

bool Membership::stands_still(const NodeName& name, std::chrono::milliseconds patience) const {
  return nodes_.at(name).still >= patience;
}

NodeName Membership::holds_up(const std::vector<NodeName>& open, std::chrono::milliseconds patience) const {
  const auto still = std::find_if(nodes_.rbegin(), nodes_.rend(), [&](const auto& node) {
    return node.second.member && !gone(node.second) && stands_still(node.first, patience);
  });
  return still == nodes_.rend() ? open.back() : still->first;
}

std::vector<NodeName> Membership::hanging(std::chrono::milliseconds stuck_after) const {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes_) {
    if (!member(name) || !view_.holds(name)) continue;
    const bool owes = in_parts_ || record.stage != NodeStage::done;  // its part, for the last checkpoint
    if (record.hangs >= stuck_after && owes) names.push_back(name);
  }
  return names;
}

std::vector<NodeName> Membership::stalled(std::chrono::milliseconds stuck_after) const {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes_) {
    if (name.loader || !member(name) || !view_.holds(name) || record.stage == NodeStage::done) continue;
    // Others watch over loaders; but nobody serves one whose own data plane takes nothing.
    const bool is_served = record.work.waits_for_data() && !view_.loaders.empty();
    const auto stands_for = is_served ? record.hangs : std::max(record.hangs, record.work.stands_for());
    if (stands_for >= stuck_after) names.push_back(name);
  }
  return names;
}

// Beyond all that a member has been told of: the last view of a run may be missing in the journal.
std::uint32_t Membership::next_number(const View& last) const {
  std::uint32_t number = last.number;
  for (const auto& [name, record] : nodes_) {
    if (record.member && !gone(record)) number = std::max(number, record.in_view);
  }
  return number + 1;
}

}  // namespace muster
