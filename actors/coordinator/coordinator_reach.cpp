// A node that is ready is taken in when it and those of other hosts reach each other's ports of data: a
// firewall is named before anything depends on what it drops.
#include <algorithm>

#include "actors/coordinator/coordinator.hpp"
#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "base/canary.hpp"

namespace muster {

// Within a host nothing is dialled, and nothing waited for.
void CoordinatorState::ask_for_ports(const NodeName& who) {
  const std::vector<NodeName> others = membership_->nodes().ready_elsewhere(who);
  membership_->admission().tried(who, others.empty() || canary("ports-untried"));
  if (membership_->at(who).preparation.tried) return is_ready(who);
  Reach dials{who, {}};
  for (const NodeName& other : others) {
    dials.peers.push_back(membership_->member_of(other));
    self_->send(actors_.at(other), Reach{who, {membership_->member_of(who)}});
  }
  self_->send(actors_.at(who), std::move(dials));
  std::set<NodeName> by(others.begin(), others.end());
  by.insert(who);
  reach_.ask(who, std::move(by));
}

// Where one of the two is not heard here either it may be gone, which is found elsewhere: they are asked
// again.
void CoordinatorState::on(const Reached& message) {
  const NodeName& about = message.about;
  if (end_.decided() || !reach_.owes(message.name, about) || !membership_->alive(about)) return;
  for (const NotReached& closed : message.not_reached) {
    if (!membership_->find(closed.peer) || !membership_->alive(closed.peer)) continue;
    const bool heard = watch_->in_touch(message.name, elapsed()) && watch_->in_touch(closed.peer, elapsed());
    if (!heard) return reach_.again(about);
    const std::string why = why_not_reached(message.name, closed);
    const bool of_replicas = !message.name.loader && !closed.peer.loader;
    const NodeName& replica = message.name.loader ? closed.peer : message.name;
    if (of_replicas || !any_reaches(about, replica)) return refuse_unreached(about, why);
    raise(make_event("notice", {{"text", why}}));  // the loader may serve others
  }
  reach_.told(message.name, about);
  take_in_reached();
}

// Whether a replica is left that the loader can serve, as far as is known.
bool CoordinatorState::any_reaches(const NodeName& loader, const NodeName& not_this_one) {
  if (!loader.loader) return true;  // it may have other loaders
  reach_.failed(loader, not_this_one);
  return std::ranges::any_of(membership_->nodes(), [&](const auto& node) {
    const auto& [who, record] = node;
    return !who.loader && membership_->alive(who) && record.stage >= NodeStage::prepared &&
           !reach_.has_failed(loader, who);
  });
}

std::string CoordinatorState::why_not_reached(const NodeName& from, const NotReached& closed) const {
  const std::string& ports = setup_.job.cluster.data_ports;
  return membership_->nodes().name_at_host(from) + " does not reach " + closed.where + ", where " +
         membership_->nodes().name_at_host(closed.peer) + " takes data: " + closed.why +
         ". Let what runs between the two hosts through: each node takes a port of " +
         (ports.empty() ? "any number; cluster.data_ports names a range for firewalls"
                        : "cluster.data_ports (" + ports + ")");
}

// By hand the others wait for a while: it comes again.
void CoordinatorState::refuse_unreached(const NodeName& who, const std::string& reason) {
  reach_.forget(who);
  const bool before_the_start = !begun_ && !comes_later(who);
  if (before_the_start && !setup_.by_hand) return fail(reason);
  turn_away(who, reason, true);
  if (before_the_start && !gathering_.has_free_place()) place_is_free(who);
}

void CoordinatorState::take_in_reached(std::chrono::milliseconds passed) {
  const auto alive = [this](const NodeName& who) { return membership_->alive(who); };
  if (passed > passed.zero()) {
    for (const NodeName& who : reach_.take_again()) {
      if (membership_->alive(who)) ask_for_ports(who);
    }
  }
  const auto heard = [this](const NodeName& who) { return watch_->in_touch(who, elapsed()); };
  for (const NodeName& who : reach_.over(alive, heard, passed)) {
    if (!membership_->alive(who)) continue;  // one before it has changed that
    membership_->admission().tried(who, true);
    is_ready(who);
  }
}

void CoordinatorState::is_ready(const NodeName& who) {
  if (!begun_) {
    if (membership_->admission().full()) form();
  } else if (phase_ == CoordinatorPhase::paused) {
    next_view();  // it may be a loader, or read its state from the disk with the others; else it is fed
  } else if (!who.loader) {
    feed_newcomers();
  } else if (phase_ == CoordinatorPhase::running) {
    close_view();  // a loader has no state to catch up with
  }
}

}  // namespace muster
