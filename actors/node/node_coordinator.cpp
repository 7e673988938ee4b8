// The coordinator, as a node sees it: its silence, its death, and the one that comes after it.
#include "actors/checkpoint/checkpointer.hpp"
#include "actors/node/node.hpp"
#include "actors/registry/job_hash.hpp"
#include "actors/replica/replica.hpp"

namespace muster {

void NodeState::notice(const std::string& text) const {
  // Who launched it knows its name; one that joins was given one.
  if (setup_.on_notice) setup_.on_notice(setup_.joins ? setup_.name.text() + ": " + text : text);
}

void NodeState::on(const Pulse& message) {
  if (!link_.heard(message, self_->clock().now())) return;
  if (const auto progress = reports_.heard()) self_->send(setup_.coordinator, *progress);
  if (checkpointer_) checkpointer_->known(message.kept_step);
  if (link_.ends_silence()) notice("the coordinator is heard again");
  if (setup_.joins && link_.waits_for_others(message.waits_for))
    notice("waits for the run to begin: " + message.waits_for);
}

// A coordinator that is cut off goes on with those that it hears; here no step can end without all members.
// One that was found is asked again and again until it answers. If that lasts, the connection is given up.
void NodeState::look_for_coordinator() {
  const Time now = self_->clock().now();
  if (const auto silence = link_.falls_silent(now, job_->cluster.detect.patience)) {
    notice("no message from the coordinator for " + std::to_string(silence->count()) +
           " ms: it is cut off, or it stands still. Here no step is applied without all members of view " +
           std::to_string(own_.number()) + ", and without the coordinator no member is replaced");
  }
  switch (link_.next_try(now, setup_.drop_connection != nullptr)) {
    case CoordinatorLink::Next::wait:
      return;
    case CoordinatorLink::Next::ask_again:
      return ask_to_be_adopted();
    case CoordinatorLink::Next::drop:
      notice("the coordinator does not answer; the connection is made anew");
      return setup_.drop_connection();
  }
}

void NodeState::on(const NewCoordinator& message) {
  setup_.coordinator = message.coordinator;
  self_->monitor(setup_.coordinator);
  link_.found(self_->clock().now());
  ask_to_be_adopted();
}

void NodeState::ask_to_be_adopted() {
  Adopt adopt;
  adopt.join = join_;
  adopt.join.name = setup_.name;
  adopt.join.joins = true;
  adopt.prepared = prepared_;
  adopt.term = link_.term();
  adopt.view = own_.view();
  adopt.begun = own_.begun();
  adopt.job_hash = job_hash(*job_, setup_.registry.declarations());
  adopt.free = link_.free_numbers();
  adopt.free.beyond(setup_.name);
  self_->send(setup_.coordinator, std::move(adopt));
  link_.asked(self_->clock().now());
}

// It knows nothing of what the one before was told, or was told when it was gone already. Of silences, which
// may have ended, it hears when they go on.
void NodeState::on(const Adopted& message) {
  link_.adopted(message.term);
  notice("the coordinator is found again (term " + std::to_string(link_.term()) + ")");
  reports_.repeat([this](const auto& report) { self_->send(setup_.coordinator, report); });
  if (replica_) self_->send(replica_, message);
}

// Others can be dialed as soon as this node is ready; it listens since then.
void NodeState::on(const Reach& message) {
  const auto say = [self = board_->node, name = setup_.name, about = message.about](auto not_reached) {
    caf::anon_send(self, Reached{name, about, std::move(not_reached)});
  };
  if (!setup_.seams.dial_ports || !plane_) return say(std::vector<NotReached>{});
  setup_.seams.dial_ports(plane_->address(), message.peers, say);
}

}  // namespace muster
