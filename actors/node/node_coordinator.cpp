// The coordinator, as a node sees it: its silence, its death, and the one that comes after it.
#include "actors/checkpoint/checkpointer.hpp"
#include "actors/events/event.hpp"
#include "actors/node/node.hpp"
#include "actors/registry/job_hash.hpp"
#include "actors/replica/replica.hpp"
#include "actors/rules/watch/return_time.hpp"

namespace muster {

void NodeState::notice(const std::string& text) const {
  // Who launched it knows its name; one that joins was given one.
  if (setup_.on_notice) setup_.on_notice(setup_.joins ? setup_.name.text() + ": " + text : text);
}

void NodeState::on(const Pulse& message) {
  if (message.term < term_) return;
  term_ = message.term;
  pulse_ = self_->clock().now();
  found_.reset();
  free_.beyond(message.free);
  if (checkpointer_) checkpointer_->known(message.kept_step);
  if (std::exchange(silence_said_, false)) notice("the coordinator is heard again");
  if (!setup_.joins || message.waits_for == waits_said_) return;
  waits_said_ = message.waits_for;
  if (!waits_said_.empty()) notice("waits for the run to begin: " + waits_said_);
}

// A coordinator that is cut off goes on with those that it hears; here no step can end without them.
void NodeState::look_for_silence() {
  const auto silence = self_->clock().now() - pulse_;
  if (silence_said_ || silence < job_->cluster.detect.patience) return;
  silence_said_ = true;
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(silence).count();
  notice("no message from the coordinator for " + std::to_string(ms) +
         " ms. It goes on with those that it hears; here no step is applied without all members of view " +
         std::to_string(view_.number) + ", and without it none is replaced");
}

void NodeState::on(const NewCoordinator& message) {
  setup_.coordinator = message.coordinator;
  self_->monitor(setup_.coordinator);
  pulse_ = self_->clock().now();
  found_ = pulse_;
  ask_to_be_adopted();
}

// Again and again until it answers: what was sent over a new connection may go nowhere while the coordinator
// still holds the old one. If that lasts, the connection is given up.
void NodeState::ask_to_be_adopted() {
  Adopt adopt;
  adopt.join = join_;
  adopt.join.name = setup_.name;
  adopt.join.joins = true;
  adopt.join.device = welcome_.device;
  adopt.prepared = prepared_;
  adopt.term = term_;
  adopt.view = view_;
  adopt.begun = begun_;
  adopt.job_hash = job_hash(*job_, setup_.registry.declarations());
  adopt.free = free_;
  adopt.free.beyond(setup_.name);
  self_->send(setup_.coordinator, std::move(adopt));
  asked_ = self_->clock().now();
}

void NodeState::look_for_answer() {
  if (!found_) return;
  const auto now = self_->clock().now();
  if (now - asked_ < kConnectMax) return;
  if (now - *found_ < kReturnMax || !setup_.drop_connection) return ask_to_be_adopted();
  found_.reset();
  notice("the coordinator does not answer; the connection is made anew");
  setup_.drop_connection();
}

// It knows nothing of what the one before was told, or was told when it was gone already. Of silences, which
// may have ended, it hears when they go on.
void NodeState::on(const Adopted& message) {
  term_ = std::max(term_, message.term);
  notice("the coordinator is found again (term " + std::to_string(term_) + ")");
  if (failure_) self_->send(setup_.coordinator, *failure_);
  if (unlike_) self_->send(setup_.coordinator, *unlike_);
  if (went_back_) self_->send(setup_.coordinator, *went_back_);
  for (const Failing& complaint : broken_) self_->send(setup_.coordinator, complaint);
  if (leaving_) self_->send(setup_.coordinator, *leaving_);
  if (replica_) self_->send(replica_, message);
}

// Whether checkpoint.folder is the coordinator's here, too.
void NodeState::look_for_mark(const std::string& mark) const {
  if (mark.empty() || !setup_.seams.look_for_mark) return;
  const auto say = [self = board_->node, name = setup_.name](const std::string& what) {
    if (what.empty()) return;
    caf::anon_send(self, Raised{make_event("notice", {{"text", name.text() + ": " + what}})});
  };
  setup_.seams.look_for_mark(*job_, mark, say);
}

// Others can be dialled as soon as this node is ready; it listens since then.
void NodeState::on(const Reach& message) {
  const auto say = [self = board_->node, name = setup_.name, about = message.about](auto not_reached) {
    caf::anon_send(self, Reached{name, about, std::move(not_reached)});
  };
  if (!setup_.seams.dial_ports || !plane_) return say(std::vector<NotReached>{});
  setup_.seams.dial_ports(plane_->address(), message.peers, say);
}

}  // namespace muster
