#include "actors/coordinator/nodes/departures.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <vector>

#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "base/canary.hpp"

namespace muster {

namespace {

constexpr const char* kClosed = "its connection is closed";

// The kernel closes the connections of a process before it tells its parent how it ended.
constexpr std::chrono::milliseconds kReapedWithin{1000};

}  // namespace

void Departures::node_down(const caf::actor_addr& address) {
  for (const NodeName& who : connections_.known_at(address)) {
    if (!run_.membership->alive(who)) continue;
    if (run_.end.decided() || (run_.membership->at(who).leaving && !run_.membership->member(who))) {
      run_.membership->left(who);
      if (!run_.end.decided() || run_.report.completed())
        port_.raise(make_event(
            "left", {{kind(who), number(who.slot)}, {"pid", run_.membership->at(who).process.pid}}));
      if (run_.end.decided() && run_.membership->none_alive()) ending_.finish();
    } else if (run_.watch->in_touch(who, port_.elapsed())) {
      // How its process has ended is worth more than that it has.
      if (run_.setup.reaps && run_.membership->at(who).process.launched != 0 &&
          !canary("closed-is-reason-enough"))
        cut_off(who, address);
      else
        lost(who, "coordinator", kClosed);
    } else {  // it may live, and come back over another connection; its silence is what counts
      run_.away.insert(who);
    }
    return;
  }
}

// It is gone, or as good as gone: a view that is being made waits until it is lost.
void Departures::cut_off(const NodeName& who, const caf::actor_addr& address) {
  cut_off_[who] = {address, 0};
  if (run_.phase == CoordinatorPhase::closing && !canary("cut-off-is-alive"))
    run_.membership->closes_no_more(who);
}

// Counted in ticks: while this process was stopped, it could reap none.
void Departures::judge_cut_off() {
  std::vector<NodeName> closed;
  for (auto each = cut_off_.begin(); each != cut_off_.end();) {
    auto& [who, cut_off] = *each;
    const bool over = ++cut_off.ticks > kReapedWithin / kCoordinatorTick;
    if (over && port_.knows(who) && connections_.address_of(who) == cut_off.address) closed.push_back(who);
    each = over ? cut_off_.erase(each) : std::next(each);
  }
  for (const NodeName& who : closed) {
    if (!run_.end.decided() && run_.membership->alive(who)) lost(who, "coordinator", kClosed);
  }
}

void Departures::lost(const NodeName& who, const std::string& noticed_by, const std::string& reason,
                      bool again) {
  const std::uint64_t step = run_.steps_done() + 1;
  const bool goes_on = run_.goes_on_without(who);
  const bool member = run_.membership->member(who);
  const std::string shards = run_.membership->views().shards_of(who);
  run_.membership->lost(who);
  if (!who.loader) run_.epochs.forget(who.slot);  // others may do its steps again, with other gradients
  port_.raise(make_event("lost", {{kind(who), number(who.slot)},
                                  {"shards", shards},
                                  {"step", number(step)},
                                  {"noticed_by", noticed_by},
                                  {"reason", reason}}));
  const std::uint64_t launched = run_.membership->at(who).process.launched;
  if (launched != 0 && run_.setup.on_lost) run_.setup.on_lost(launched);
  if (!run_.begun && run_.setup.by_hand && !run_.comes_later(who) &&
      !canary("loss-before-the-start-ends-all"))
    return lost_before_begin(who, reason, again);
  if (!goes_on || (!run_.begun && canary("loss-before-the-start-ends-all"))) {
    return ending_.fail(run_.membership->nodes().name_at_place(who) + " was lost at step " +
                        std::to_string(step) + " (shards " + shards + "; noticed by " + noticed_by +
                        "): " + reason);
  }
  if (port_.knows(who)) {
    // In case it lives after all.
    port_.send(who, Stop{false, kEvicted + reason, again, false, checkpoints_.suspects.from()});
  }
  if (!member) return newcomers_.end_donation(who);
  run_.recovery.loses(port_.now());
  run_.lost.push_back(who);
  if (run_.phase != CoordinatorPhase::adopting) return views_.close_view();
  // Some who are back may have been asked to leave meanwhile: they keep the state, or give it to others.
  const bool any_member = std::ranges::any_of(run_.membership->nodes(), [this](const auto& node) {
    return !node.first.loader && run_.view.holds(node.first) && run_.membership->member(node.first);
  });
  if (!any_member && !run_.end.keeps_state()) return adoption_.none_came_back();
  if (run_.membership->all(NodeStage::installed)) adoption_.adopted_all();
}

// By hand nothing is lost with one that goes before the first step: its place is free, and the others wait
// for a while. A view that was sent already is void, and all join anew.
void Departures::lost_before_begin(const NodeName& who, const std::string& reason, bool again) {
  if (port_.knows(who)) port_.send(who, Stop{false, "lost before the first view: " + reason, again});
  arrivals_.place_is_free(who);
  if (run_.phase != CoordinatorPhase::forming) adoption_.try_to_begin_anew();
}

void Departures::on(const Leaving& message) {
  if (run_.end.decided() || !run_.membership->alive(message.name)) return;
  if (!run_.begun && !run_.comes_later(message.name)) {
    if (run_.setup.by_hand) port_.send(message.name, Stop{true, message.reason});
    return lost(message.name, message.name.text(), message.reason);
  }
  run_.membership->leaving(message.name);
  if (run_.end.keeps_state()) return;  // it goes when the state is kept
  if (!run_.membership->member(message.name)) {
    port_.send(message.name, Stop{true, message.reason});
  } else if (run_.phase == CoordinatorPhase::running || run_.phase == CoordinatorPhase::paused) {
    views_.close_view();
  } else if (run_.phase == CoordinatorPhase::noting && !run_.gathering.tries_to_begin_anew() &&
             all_leave(run_.membership->nodes()) && !canary("leavers-wait-for-journal")) {
    views_.next_view();  // the last one needs no journal
  }
}

void Departures::on(const Failing& message) {
  if (run_.end.decided()) return;
  const auto newcomer = [this](const NodeName& who) {
    return (run_.begun || run_.comes_later(who)) && run_.membership->alive(who) &&
           !run_.membership->member(who);
  };
  if (message.peer_known) {
    const NodeName& who = newcomer(message.name) ? message.name : message.peer;
    const NodeName& other = who == message.name ? message.peer : message.name;
    if (newcomer(who) && run_.membership->transfers().has_donor(who, message.view)) {
      // A donor that it had before is none any more.
      return !other.loader && run_.membership->at(who).source.donor == other.slot
                 ? views_.turn_away(who, message.reason, true)
                 : void();
    }
  }
  if (message.peer_known) {
    // A complaint of an older view, or about one who is known to be gone, says nothing new. Who was not told
    // of the view sends nothing in it.
    // So does one of a newcomer that closes the view with its members.
    const bool of_members = run_.view.holds(message.name) && run_.view.holds(message.peer);
    if (of_members && message.view == run_.view.number && run_.membership->alive(message.peer) &&
        run_.membership->at(message.peer).view.number == run_.view.number)
      run_.watch->complained(message, port_.elapsed());
    return;
  }
  if (!run_.membership->alive(message.name)) return;
  if (newcomer(message.name)) return views_.turn_away(message.name, message.reason, false);
  // No further micro-batch is asked for, and another one may still write what this one cannot. A step that is
  // not finite was not applied: what all hold is whole.
  if (run_.end.keeps_state() && (message.at.known() || !message.events.empty())) return;
  for (const Event& event : message.events) port_.raise(event);
  if (run_.end.keeps_state()) return lost(message.name, message.name.text(), message.reason, false);
  if (!message.events.empty() &&
      ending_.keep_state("failed",
                         run_.membership->nodes().name_at_place(message.name) + ": " + message.reason))
    return;
  if (!run_.begun && run_.setup.by_hand && !message.ends_run)
    return lost(message.name, message.name.text(), message.reason, false);
  // When all have come back, or are lost, it says so again: until then nobody knows who is left.
  if (run_.phase == CoordinatorPhase::adopting && !message.ends_run) return;
  if (message.ends_run || !run_.goes_on_without(message.name) || canary("local-error-ends-all"))
    return ending_.fail(run_.membership->nodes().name_at_place(message.name) + ": " + message.reason);
  local_error(message);
}

// What is this node's alone costs a view change. What every replica would meet ends the run, with its state:
// that of a node which failed at a micro-batch is whole.
void Departures::local_error(const Failing& message) {
  const auto& nodes = run_.membership->nodes();
  const bool others_left = std::any_of(nodes.begin(), nodes.end(), [&](const auto& node) {
    return node.first.loader == message.name.loader && node.first != message.name && !node.second.leaving &&
           run_.membership->member(node.first) && run_.membership->alive(node.first);
  });
  const bool replicas_load =
      message.name.loader && run_.setup.job.cluster.on_loader_loss == OnLoaderLoss::load_here;
  const LocalErrors::Verdict verdict = errors_.judge(message, others_left || replicas_load);
  if (!verdict.ends_run) return lost(message.name, message.name.text(), message.reason, false);
  if (verdict.state_is_whole && ending_.keep_state("failed", verdict.reason)) return;
  ending_.fail(verdict.reason);
}

void Departures::on(const ChildEnded& message) {
  if (run_.end.decided()) return;
  NodeName who = message.name;
  for (const auto& [each, record] : run_.membership->nodes()) {
    const bool same = canary("pid-is-identity") ? record.process.pid == message.pid
                                                : record.process.launched == message.launched;
    if (same && message.launched != 0 && run_.membership->alive(each)) who = each;
  }
  const NodeRecord* record = run_.membership->find(who);
  if (!record || record->stage == NodeStage::lost || record->stage == NodeStage::left) return;
  if (record->process.launched != message.launched && record->stage != NodeStage::expected &&
      !canary("pid-is-identity"))
    return;
  if (record->leaving && !run_.membership->member(who)) return node_down(connections_.address_of(who));
  lost(who, "launcher", "process " + std::to_string(message.pid) + " " + message.how);
}

}  // namespace muster
