#include "actors/rules/membership/membership.hpp"

#include "actors/rules/nodes/compared_bits.hpp"

namespace muster {

Membership::Membership(const Job& job, const FreeNumbers& first)
    : nodes_(std::make_unique<NodeTable>()),
      may_differ_(job.cluster.on_corruption == OnCorruption::report),
      admission_(*nodes_, job, first),
      returns_(*nodes_, job),
      transfers_(*nodes_),
      fit_(*nodes_, job),
      views_(*nodes_, ViewRules(job)) {}

bool Membership::all(NodeStage stage, bool replicas_only) const {
  return all_are(*nodes_, stage, replicas_only);
}

void Membership::compared(std::uint32_t view, const std::vector<std::uint64_t>& clean) {
  gradients_compared(*nodes_, view, clean);
}

void Membership::weights_compared() {
  muster::weights_compared(*nodes_);
}

std::string Membership::done(const ReplicaDone& message) {
  NodeRecord& record = (*nodes_)[{false, message.slot}];
  record.stage = NodeStage::done;
  record.held.trained = true;
  record.done = message;
  for (const auto& [name, other] : *nodes_) {
    if (name.loader || other.stage != NodeStage::done) continue;
    constexpr std::size_t kShown = 12;  // digits of a hash; the report has all of them
    const bool good = may_differ_ || other.done.state_sha256 == message.state_sha256;
    if (!good || other.done.steps != message.steps) {
      return "replica " + std::to_string(message.slot) + " ends step " + std::to_string(message.steps) +
             " with weights " + message.state_sha256.substr(0, kShown) + ", " + name.text() + " step " +
             std::to_string(other.done.steps) + " with " + other.done.state_sha256.substr(0, kShown);
    }
  }
  return {};
}

std::vector<NodeName> Membership::begin_close() {
  for (auto& [name, record] : nodes_->all()) {
    if (record.stage == NodeStage::caught_up && !record.leaving) record.member = true;
    if (!is_member(record)) continue;
    record.stage = NodeStage::prepared;  // whoever closed an older view has to close this one, too
    record.last.still = {};
  }
  return not_closed(*nodes_);
}

void Membership::closed(const Closed& message) {
  NodeRecord& record = (*nodes_)[message.name];
  record.stage = NodeStage::closed;
  record.held = {message.records, message.kept_from, message.took, message.trained};
  record.bits.proven = message.proven;
  // What it was given in this view is compared before its first step.
  if (record.member && message.proven && message.took == message.view) record.bits.holds_of.clear();
  compared(message.view, message.clean);
}

void Membership::begin_again() {
  for (auto& [name, record] : nodes_->all()) record.held.trained = false;
}

void Membership::entered_before(const View& view, const FreeNumbers& free) {
  admission_.given(view);
  admission_.given(free);
  returns_.wait_for(view);
}

}  // namespace muster
