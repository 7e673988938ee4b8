#include "actors/coordinator/nodes/member_watch.hpp"

#include <algorithm>

#include "actors/coordinator/facts/coordinator_texts.hpp"
#include "actors/coordinator/facts/run_standing.hpp"
#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "actors/rules/membership/given_up.hpp"
#include "actors/rules/nodes/keeping_time.hpp"
#include "actors/rules/stragglers/straggling.hpp"
#include "base/canary.hpp"

namespace muster {

namespace {

// A long update, or a slow link, may hold up the end of a view for a while.
constexpr int kClosingPatiences = 20;
// So may connections to new members.
constexpr int kInstallingPatiences = 20;
constexpr int kLoaderPatiences = 3;

// Whether a replica of the view has done what these have not.
bool others_wait(const View& view, const Membership& membership, const std::vector<NodeName>& behind) {
  return std::ranges::any_of(view.replicas, [&](const Member& each) {
    return membership.alive(each.name) && std::ranges::find(behind, each.name) == behind.end();
  });
}

}  // namespace

void MemberWatch::on(const Heartbeat& message) {
  run_.membership->heard(message);
  if (!run_.membership->alive(message.name)) return;
  run_.watch->heard(message, port_.elapsed());
  if (!run_.in_force()) return;
  if (const auto move = run_.watch->shed()) {
    port_.raise(make_event("shed", {{"view", static_cast<std::int64_t>(run_.view.number)},
                                    {"shards", text_of(move->deal)},
                                    {"reason", move->reason}}));
    views_.close_view();
  }
}

// The others see only that its compute thread is busy; its heartbeats say that this is a read, and for how
// long.
bool MemberWatch::reads_itself(const HeldUp& message) const {
  const Work& work = run_.membership->at(message.late()).last.work;
  return run_.view.loaders.empty() && work.call.kind == ThreadCall::Kind::reads &&
         2 * std::chrono::duration<double, std::milli>(work.calling).count() > message.waited_ms;
}

void MemberWatch::on(const HeldUp& said) {
  if (run_.end.decided() || !run_.in_force() || !run_.membership->alive(said.late())) return;
  HeldUp message = said;
  if (message.cause == text_of(LateCause::compute) && reads_itself(message))
    message.cause = text_of(LateCause::data);
  const ClusterWatch::Judgement judgement = run_.watch->held_up(
      message, port_.elapsed(), run_.membership->transfers().newcomers(NodeStage::caught_up));
  if (!follow(judgement) && judgement.drops) views_.close_view();
}

void MemberWatch::pulse() {
  pulse_at_ = port_.now();
  const Pulse pulse{run_.term.number(), checkpoints_.known->last().step,
                    run_.membership->admission().free_numbers(), whom_it_waits_for(run_)};
  for (const NodeName& who : port_.known()) {
    if (run_.membership->alive(who)) port_.send(who, pulse);
  }
}

void MemberWatch::pulse_if_due() {
  if (port_.now() - pulse_at_ >= run_.setup.job.cluster.detect.heartbeat) pulse();
}

// All members silent, or most of them at once: said when it begins, and when they are heard again.
void MemberWatch::see(SelfDoubt::Sight sight) {
  const auto now = port_.now();
  const auto change = run_.silence.see(sight, now);
  if (change == MemberSilence::Change::none) return;
  const auto& cluster = run_.setup.job.cluster;
  const auto view = static_cast<std::int64_t>(run_.view.number);
  if (change == MemberSilence::Change::ends) {
    port_.raise(
        make_event("heard_again", {{"view", view}, {"after_ms", milliseconds(run_.silence.lasted(now))}}));
    return;
  }
  const auto wait = sight == SelfDoubt::Sight::all_silent
                        ? cluster.give_up_after
                        : SelfDoubt::kMajorityPatiences * cluster.detect.patience;
  port_.raise(make_event(
      "paused", {{"view", view}, {"waits_for", run_.watch->missing()}, {"give_up_ms", milliseconds(wait)}}));
}

bool MemberWatch::give_up_silence() {
  const auto& cluster = run_.setup.job.cluster;
  if (run_.silence.lasted(port_.now()) < cluster.give_up_after) return false;
  if (!run_.begun && run_.setup.by_hand) return lose_all_silent();
  run_.end.give_up_silence();
  const bool any_checkpoint =
      checkpoints_.known->any() || checkpoints_.known->last_before(CheckpointFacts::kAllSteps).has_value();
  ending_.fail("no message from any member for " + std::to_string(cluster.give_up_after.count()) +
               " ms (cluster.give_up_after). " +
               what_is_left(run_.setup.job, run_.setup.by_hand, any_checkpoint));
  return true;
}

// Before the first view nothing is lost with those who came: others may take their places.
bool MemberWatch::lose_all_silent() {
  run_.silence.goes_on();
  std::vector<NodeName> here;
  for (const auto& [who, record] : run_.membership->nodes()) here.push_back(who);
  for (const NodeName& who : here) {
    if (run_.membership->find(who) && run_.membership->alive(who) &&
        !run_.watch->in_touch(who, port_.elapsed()))
      views_.lost(who, "coordinator", "silent for cluster.give_up_after");
  }
  return true;
}

// A loader has no state to hand in and nobody to greet: it owes its answer at once. If it gives none, the
// thread of its data plane stands still.
bool MemberWatch::judge_loaders() {
  const bool closing = run_.phase == CoordinatorPhase::closing;
  if (!run_.begun || (!closing && run_.phase != CoordinatorPhase::installing)) return false;
  const auto patience = kLoaderPatiences * run_.setup.job.cluster.detect.patience;
  if (!run_.timers.is_over(PhaseTimers::Wait::loaders, patience)) return false;
  for (const auto& [who, record] : run_.membership->nodes()) {
    const NodeStage owed = closing ? NodeStage::closed : NodeStage::installed;
    if (!who.loader || !run_.membership->member(who) || record.stage == owed) continue;
    views_.lost(who, "coordinator",
                std::string("it has not ") + (closing ? "closed" : "installed") + " view " +
                    std::to_string(run_.view.number) + " within " +
                    std::to_string(std::chrono::milliseconds(patience).count()) + " ms");
    return true;
  }
  return false;
}

// How long the others wait for these. Less, while the state of a run that ends is kept.
std::chrono::milliseconds MemberWatch::patience_with(const std::vector<NodeName>& open,
                                                     std::chrono::milliseconds usual) const {
  if (open.empty() || !run_.end.keeps_state() || !others_wait(run_.view, *run_.membership, open))
    return usual;
  const NodeName who = who_holds_up(run_.membership->nodes(), open, run_.setup.job.cluster.detect.patience);
  return time_while_keeping(run_.setup.job, usual, 4, run_.membership->views().can_spare(run_.view, who));
}

// A member that lives, and whose messages do not end, holds up all: one after the other goes. Counted in
// ticks, so that a coordinator that was stopped itself does not blame others for it.
bool MemberWatch::judge_closing() {
  if (run_.phase != CoordinatorPhase::closing) return false;
  const auto open = not_closed(run_.membership->nodes());
  const auto patience = patience_with(open, kClosingPatiences * run_.setup.job.cluster.detect.patience);
  if (!run_.timers.is_over(PhaseTimers::Wait::closing, patience)) return false;
  run_.timers.restart(PhaseTimers::Wait::closing);
  if (open.empty()) return false;
  const NodeName who = who_holds_up(run_.membership->nodes(), open, run_.setup.job.cluster.detect.patience);
  const bool stands_still =
      plane_stands_still(run_.membership->at(who), run_.setup.job.cluster.detect.patience);
  views_.lost(who, "coordinator",
              "view " + std::to_string(run_.view.number) + " is not closed within " +
                  std::to_string(std::chrono::milliseconds(patience).count()) + " ms, and " +
                  (stands_still ? "the thread of its data plane stands still"
                                : "what it sends or receives does not end"));
  return true;
}

// A member that does not come to be greeted by all would hold up the view for good. The first view has the
// time in which nodes may come.
bool MemberWatch::judge_installing() {
  if (run_.phase != CoordinatorPhase::installing || canary("installing-has-no-deadline")) return false;
  const auto& cluster = run_.setup.job.cluster;
  std::chrono::milliseconds patience = kInstallingPatiences * cluster.detect.patience;
  if (!run_.begun) patience = std::max(patience, cluster.start_patience);
  const auto open = not_installed(run_.membership->nodes());
  patience = patience_with(open, patience);
  if (!run_.timers.is_over(PhaseTimers::Wait::installing, patience)) return false;
  run_.timers.restart(PhaseTimers::Wait::installing);
  if (open.empty()) return false;
  const NodeName who = who_holds_up(run_.membership->nodes(), open, run_.setup.job.cluster.detect.patience);
  views_.lost(who, "coordinator",
              "view " + std::to_string(run_.view.number) + " is not in force within " +
                  std::to_string(patience.count()) + " ms, and " +
                  (plane_stands_still(run_.membership->at(who), cluster.detect.patience)
                       ? "the thread of its data plane stands still"
                       : "what members send to it, to greet it, does not arrive"));
  return true;
}

// Whether anybody is lost by it. Where nothing may be lost by choice, a straggler is better than a pause.
bool MemberWatch::follow(const ClusterWatch::Judgement& judgement) {
  for (const Event& event : judgement.events) port_.raise(event);
  if (!judgement.losses.empty()) run_.silence.goes_on();  // it goes on without them
  for (const auto& loss : judgement.losses) {
    if (run_.end.decided() || !run_.membership->alive(loss.name)) continue;
    if (loss.pace == ClusterWatch::Pace::unknown) {
      const std::string ends =
          loss.broken_to ? link_ends(run_.membership->nodes(), loss.name, *loss.broken_to) : "";
      views_.lost(loss.name, loss.noticed_by, loss.reason + ends);
    } else {
      hanging_.lose_hanging(loss.name, loss.noticed_by, loss.pace == ClusterWatch::Pace::stuck, loss.reason);
    }
  }
  return !judgement.losses.empty();
}

}  // namespace muster
