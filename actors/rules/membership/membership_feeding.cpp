// Newcomers, and the members that give them their state.
#include <algorithm>

#include "actors/rules/membership/membership.hpp"
#include "base/canary.hpp"

namespace muster {

// The last one: the first speaks for all, and has enough to do. Where all others want to leave or hang, and
// others come, one that leaves; where these hang, too, one that hung. A newcomer that counts as a member
// because it closes the view with the others is none.
std::optional<Member> Membership::donor() const {
  std::optional<Member> best;
  int best_rank = 0;
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    const auto& [name, record] = *node;
    if (name.loader || !member(name) || !view_.holds(name)) continue;
    if (record.leaving && (!any_replica_stays() || canary("held-back-gives-nothing"))) continue;
    const int rank = (record.gives_nothing ? 2 : 0) + (record.leaving ? 1 : 0);
    if (best && rank >= best_rank) continue;
    best = member_of(name);
    best_rank = rank;
  }
  return best;
}

bool Membership::gives_nothing(const NodeName& who) {
  NodeRecord& record = nodes_.at(who);
  if (std::exchange(record.gives_nothing, true)) return false;
  auto next = donor();
  if (next && nodes_.at(next->name).gives_nothing) {  // all have hung once: the others have their turn again
    for (auto& [name, other] : nodes_) other.gives_nothing = name == who;
    next = donor();
  }
  return next && next->name != who;
}

// Donors may be in an older view than this one: nobody was told of it where its coordinator died behind its
// journal.
bool Membership::is_fed(const NodeName& name) const {
  const NodeRecord& record = nodes_.at(name);
  const NodeName donor{false, record.fed_by};
  return !record.member && record.fed_in > 0 && member(donor) && nodes_.at(donor).in_view == record.fed_in;
}

std::vector<NodeName> Membership::hungry() const {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes_) {
    if (name.loader || record.member || record.leaving || record.stage != NodeStage::prepared ||
        !record.tried)
      continue;
    if (record.feed_again || !is_fed(name)) names.push_back(name);
  }
  return names;
}

void Membership::fed(const NodeName& name, const Member& donor) {
  nodes_[name].holds_of = {donor.name.slot};
  nodes_[name].feed_again = nodes_[name].proven = false;
  nodes_[name].fed_by = donor.name.slot;
  nodes_[name].fed_in = nodes_[name].in_view = nodes_.at(donor.name).in_view;
}

void Membership::caught_up(const CaughtUp& message) {
  NodeRecord& record = nodes_[message.name];
  record.stage = NodeStage::caught_up;
  record.records = message.records;
}

std::string Membership::without_state() const {
  std::string names;
  for (const auto& [name, record] : nodes_) {
    if (name.loader || record.member || record.leaving || record.stage != NodeStage::prepared) continue;
    names += (names.empty() ? "" : ", ") + name.text();
  }
  return names;
}

std::size_t Membership::newcomers(NodeStage stage) const {
  return static_cast<std::size_t>(std::ranges::count_if(nodes_, [&](const auto& node) {
    const auto& [name, record] = node;
    return !name.loader && !record.member && !record.leaving && alive(name) && record.stage >= stage;
  }));
}

bool Membership::any_caught_up() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const auto& node) {
    return !node.second.member && node.second.stage == NodeStage::caught_up;
  });
}

std::vector<NodeName> Membership::fed_by(const NodeName& donor, std::uint32_t view) const {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes_) {
    if (donor.loader || name.loader || !alive(name)) continue;
    if (record.fed_in == view && record.fed_by == donor.slot) names.push_back(name);
  }
  return names;
}

std::vector<NodeName> Membership::fed_by_others(const NodeName& donor) const {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes_) {
    const bool newcomer = !name.loader && record.fed_in > 0 && !view_.holds(name);
    if (newcomer && (record.fed_by != donor.slot || !alive(name))) names.push_back(name);
  }
  return names;
}

std::vector<NodeName> Membership::starved_by(const NodeName& donor) const {
  std::vector<NodeName> names = fed_by(donor, view_of(donor));
  std::erase_if(names, [this](const NodeName& name) {
    return at(name).member || at(name).stage != NodeStage::prepared;
  });
  return names;
}

}  // namespace muster
