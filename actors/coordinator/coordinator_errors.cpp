// Nodes that say that they cannot go on, and processes that have ended: who is lost, and when the run ends.
#include <algorithm>

#include "actors/coordinator/coordinator.hpp"
#include "base/canary.hpp"

namespace muster {

void CoordinatorState::on(const Failing& message) {
  if (end_.decided()) return;
  const auto newcomer = [this](const NodeName& who) {
    return (begun_ || comes_later(who)) && membership_->alive(who) && !membership_->member(who);
  };
  if (message.peer_known) {
    const NodeName& who = newcomer(message.name) ? message.name : message.peer;
    const NodeName& other = who == message.name ? message.peer : message.name;
    if (newcomer(who) && membership_->transfers().has_donor(who, message.view)) {
      // A donor that it had before is none any more.
      return !other.loader && membership_->at(who).source.donor == other.slot
                 ? turn_away(who, message.reason, true)
                 : void();
    }
  }
  if (message.peer_known) {
    // A complaint of an older view, or about one who is known to be gone, says nothing new. Who was not told
    // of the view sends nothing in it.
    // So does one of a newcomer that closes the view with its members.
    const bool of_members = view_.holds(message.name) && view_.holds(message.peer);
    if (of_members && message.view == view_.number && membership_->alive(message.peer) &&
        membership_->at(message.peer).view.number == view_.number)
      watch_->complained(message, elapsed());
    return;
  }
  if (!membership_->alive(message.name)) return;
  if (newcomer(message.name)) return turn_away(message.name, message.reason, false);
  // No further micro-batch is asked for, and another one may still write what this one cannot. A step that is
  // not finite was not applied: what all hold is whole.
  if (end_.keeps_state() && (message.at.known() || !message.events.empty())) return;
  for (const Event& event : message.events) raise(event);
  if (end_.keeps_state()) return lost(message.name, message.name.text(), message.reason, false);
  if (!message.events.empty() && keep_state("failed", message.name.text() + ": " + message.reason)) return;
  if (!begun_ && setup_.by_hand && !message.ends_run)
    return lost(message.name, message.name.text(), message.reason, false);
  // When all have come back, or are lost, it says so again: until then nobody knows who is left.
  if (phase_ == CoordinatorPhase::adopting && !message.ends_run) return;
  if (message.ends_run || !goes_on_without(message.name) || canary("local-error-ends-all"))
    return fail(message.name.text() + ": " + message.reason);
  local_error(message);
}

// What is this node's alone costs a view change. What every replica would meet ends the run, with its state:
// that of a node which failed at a micro-batch is whole.
void CoordinatorState::local_error(const Failing& message) {
  const auto& nodes = membership_->nodes();
  const bool others_left = std::any_of(nodes.begin(), nodes.end(), [&](const auto& node) {
    return node.first.loader == message.name.loader && node.first != message.name && !node.second.leaving &&
           membership_->member(node.first) && membership_->alive(node.first);
  });
  const bool replicas_load =
      message.name.loader && setup_.job.cluster.on_loader_loss == OnLoaderLoss::load_here;
  const LocalErrors::Verdict verdict = errors_.judge(message, others_left || replicas_load);
  if (!verdict.ends_run) return lost(message.name, message.name.text(), message.reason, false);
  if (verdict.state_is_whole && keep_state("failed", verdict.reason)) return;
  fail(verdict.reason);
}

// A child is known by the number of its start: by its pid only on its own host. One that has not joined yet
// is known by the name that it was launched for.
void CoordinatorState::on(const ChildEnded& message) {
  if (end_.decided()) return;
  NodeName who = message.name;
  for (const auto& [each, record] : membership_->nodes()) {
    const bool same = canary("pid-is-identity") ? record.process.pid == message.pid
                                                : record.process.launched == message.launched;
    if (same && message.launched != 0 && membership_->alive(each)) who = each;
  }
  const NodeRecord* record = membership_->find(who);
  if (!record || record->stage == NodeStage::lost || record->stage == NodeStage::left) return;
  if (record->process.launched != message.launched && record->stage != NodeStage::expected &&
      !canary("pid-is-identity"))
    return;
  if (record->leaving && !membership_->member(who)) return node_down(actors_.at(who).address());
  lost(who, "launcher", "process " + std::to_string(message.pid) + " " + message.how);
}

}  // namespace muster
