#include "actors/rules/membership/state_transfers.hpp"

#include <algorithm>
#include <utility>

#include "actors/rules/nodes/leaving.hpp"
#include "base/canary.hpp"

namespace muster {

// The last one: the first speaks for all, and has enough to do. Where all others want to leave or hang, and
// others come, one that leaves; where these hang, too, one that hung. A newcomer that counts as a member
// because it closes the view with the others is none.
std::optional<Member> StateTransfers::donor() const {
  std::optional<Member> best;
  int best_rank = 0;
  const bool some_stay = any_replica_stays(nodes_);
  for (auto node = nodes_.all().rbegin(); node != nodes_.all().rend(); ++node) {
    const auto& [name, record] = *node;
    if (name.loader || !is_member(record) || !nodes_.view().holds(name)) continue;
    if (record.leaving && (!some_stay || canary("held-back-gives-nothing"))) continue;
    const int rank = (record.passed_over ? 2 : 0) + (record.leaving ? 1 : 0);
    if (best && rank >= best_rank) continue;
    best = nodes_.member_of(name);
    best_rank = rank;
  }
  return best;
}

bool StateTransfers::pass_over(const NodeName& who) {
  if (std::exchange(nodes_.at(who).passed_over, true)) return false;
  auto next = donor();
  if (next && nodes_.at(next->name).passed_over) {  // all have hung once: the others have their turn again
    for (auto& [name, other] : nodes_.all()) other.passed_over = name == who;
    next = donor();
  }
  return next && next->name != who;
}

// Donors may be in an older view than this one: nobody was told of it where its coordinator died behind its
// journal.
bool StateTransfers::has_donor(const NodeName& newcomer) const {
  const NodeRecord& record = nodes_.at(newcomer);
  const NodeName donor{false, record.source.donor};
  return !record.member && record.source.view > 0 && nodes_.member(donor) &&
         nodes_.at(donor).view.number == record.source.view;
}

std::vector<NodeName> StateTransfers::without_donor() const {
  std::vector<NodeName> names;
  for (const NodeName& name : without_state()) {
    const NodeRecord& record = nodes_.at(name);
    if (record.preparation.tried && (record.source.again || !has_donor(name))) names.push_back(name);
  }
  return names;
}

void StateTransfers::began(const NodeName& newcomer, const Member& donor) {
  NodeRecord& record = nodes_[newcomer];
  record.view.number = nodes_.at(donor.name).view.number;
  record.source = {donor.name.slot, record.view.number, false};
  record.bits.given_by(donor.name.slot);
}

void StateTransfers::caught_up(const CaughtUp& message) {
  NodeRecord& record = nodes_[message.name];
  record.stage = NodeStage::caught_up;
  record.held.records = message.records;
}

std::vector<NodeName> StateTransfers::newcomers_of(const NodeName& donor, std::uint32_t view) const {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes_) {
    if (donor.loader || name.loader || !alive(record)) continue;
    if (record.source.view == view && record.source.donor == donor.slot) names.push_back(name);
  }
  return names;
}

std::vector<NodeName> StateTransfers::waiting_for(const NodeName& donor) const {
  std::vector<NodeName> names = newcomers_of(donor, nodes_.at(donor).view.number);
  std::erase_if(names, [this](const NodeName& name) {
    return nodes_.at(name).member || nodes_.at(name).stage != NodeStage::prepared;
  });
  return names;
}

std::vector<NodeName> StateTransfers::no_longer_of(const NodeName& donor) const {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes_) {
    const bool newcomer = !name.loader && record.source.view > 0 && !nodes_.view().holds(name);
    if (newcomer && (record.source.donor != donor.slot || !alive(record))) names.push_back(name);
  }
  return names;
}

std::vector<NodeName> StateTransfers::without_state() const {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes_) {
    if (name.loader || record.member || record.leaving || record.stage != NodeStage::prepared) continue;
    names.push_back(name);
  }
  return names;
}

bool StateTransfers::any_caught_up() const {
  return std::ranges::any_of(nodes_, [](const auto& node) {
    return !node.second.member && node.second.stage == NodeStage::caught_up;
  });
}

std::size_t StateTransfers::newcomers(NodeStage stage) const {
  return static_cast<std::size_t>(std::ranges::count_if(nodes_, [&](const auto& node) {
    const auto& [name, record] = node;
    return !name.loader && !record.member && !record.leaving && alive(record) && record.stage >= stage;
  }));
}

}  // namespace muster
