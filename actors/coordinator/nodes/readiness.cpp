#include "actors/coordinator/nodes/readiness.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "actors/coordinator/facts/coordinator_texts.hpp"
#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "base/canary.hpp"

namespace muster {

void Readiness::on(const Prepared& message) {
  if (run_.end.decided() || !run_.membership->alive(message.name)) return;
  if (const std::string reason = run_.membership->admission().prepared(message); !reason.empty()) {
    const bool before_the_start = !run_.begun && !run_.comes_later(message.name);
    if (before_the_start && (!run_.setup.by_hand || canary("misfit-ends-all"))) return ending_.fail(reason);
    if (!before_the_start) {
      run_.membership->lost(message.name);
      return arrivals_.refuse(message.name, reason);
    }
    if (!run_.membership->admission().full())
      port_.raise(make_event("notice", {{"text", reason}}));  // who is right, others may show
  } else if (const std::string odd = run_.membership->fit().other_bits(message.name); !odd.empty())
    port_.raise(make_event("notice", {{"text", odd + " (cluster.reproducible = \"loose\")"}}));
  ask_for_ports(message.name);
}

// Within a host nothing is dialed, and nothing waited for.
void Readiness::ask_for_ports(const NodeName& who) {
  const std::vector<NodeName> others = run_.membership->nodes().ready_elsewhere(who);
  run_.membership->admission().tried(who, others.empty() || canary("ports-untried"));
  if (run_.membership->at(who).preparation.tried) return is_ready(who);
  Reach dials{who, {}};
  for (const NodeName& other : others) {
    dials.peers.push_back(run_.membership->member_of(other));
    port_.send(other, Reach{who, {run_.membership->member_of(who)}});
  }
  port_.send(who, std::move(dials));
  std::set<NodeName> by(others.begin(), others.end());
  by.insert(who);
  reach_.ask(who, std::move(by));
}

// Where one of the two is not heard here either it may be gone, which is found elsewhere: they are asked
// again.
void Readiness::on(const Reached& message) {
  const NodeName& about = message.about;
  if (run_.end.decided() || !reach_.owes(message.name, about) || !run_.membership->alive(about)) return;
  for (const NotReached& closed : message.not_reached) {
    if (!run_.membership->find(closed.peer) || !run_.membership->alive(closed.peer)) continue;
    const bool heard = run_.watch->in_touch(message.name, port_.elapsed()) &&
                       run_.watch->in_touch(closed.peer, port_.elapsed());
    if (!heard) return reach_.again(about);
    const std::string why =
        why_not_reached(*run_.membership, run_.setup.job.cluster.data_ports, message.name, closed);
    const bool of_replicas = !message.name.loader && !closed.peer.loader;
    const NodeName& replica = message.name.loader ? closed.peer : message.name;
    if (of_replicas || !any_reaches(about, replica)) return refuse_unreached(about, why);
    port_.raise(make_event("notice", {{"text", why}}));  // the loader may serve others
  }
  reach_.told(message.name, about);
  take_in_reached();
}

// Whether a replica is left that the loader can serve, as far as is known.
bool Readiness::any_reaches(const NodeName& loader, const NodeName& not_this_one) {
  if (!loader.loader) return true;  // it may have other loaders
  reach_.failed(loader, not_this_one);
  return std::ranges::any_of(run_.membership->nodes(), [&](const auto& node) {
    const auto& [who, record] = node;
    return !who.loader && run_.membership->alive(who) && record.stage >= NodeStage::prepared &&
           !reach_.has_failed(loader, who);
  });
}

// By hand the others wait for a while: it comes again.
void Readiness::refuse_unreached(const NodeName& who, const std::string& reason) {
  reach_.forget(who);
  const bool before_the_start = !run_.begun && !run_.comes_later(who);
  if (before_the_start && !run_.setup.by_hand) return ending_.fail(reason);
  views_.turn_away(who, reason, true);
  if (before_the_start && !run_.gathering.has_free_place()) arrivals_.place_is_free(who);
}

void Readiness::take_in_reached(std::chrono::milliseconds passed) {
  const auto alive = [this](const NodeName& who) { return run_.membership->alive(who); };
  if (passed > passed.zero()) {
    for (const NodeName& who : reach_.take_again()) {
      if (run_.membership->alive(who)) ask_for_ports(who);
    }
  }
  const auto heard = [this](const NodeName& who) { return run_.watch->in_touch(who, port_.elapsed()); };
  for (const NodeName& who : reach_.over(alive, heard, passed)) {
    if (!run_.membership->alive(who)) continue;  // one before it has changed that
    run_.membership->admission().tried(who, true);
    is_ready(who);
  }
}

void Readiness::is_ready(const NodeName& who) {
  if (!run_.begun) {
    if (run_.membership->admission().full()) arrivals_.form();
  } else if (run_.membership->views().cannot_read(who)) {
    views_.turn_away(who, kCannotRead, true);
  } else if (run_.phase == CoordinatorPhase::paused) {
    views_
        .next_view();  // it may be a loader, or read its state from the disk with the others; else it is fed
  } else if (!who.loader) {
    views_.feed_newcomers();
  } else if (run_.phase == CoordinatorPhase::running) {
    views_.close_view();  // a loader has no state to catch up with
  }
}

}  // namespace muster
