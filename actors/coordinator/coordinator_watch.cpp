// How the coordinator watches its nodes: what is told to it of life, links and lateness, and what follows.
#include <algorithm>

#include "actors/coordinator/coordinator.hpp"
#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "actors/rules/membership/given_up.hpp"
#include "actors/rules/watch/straggling.hpp"
#include "base/canary.hpp"

namespace muster {

namespace {

// A long update, or a slow link, may hold up the end of a view for a while.
constexpr int kClosingPatiences = 20;
// So may connections to new members.
constexpr int kInstallingPatiences = 20;
constexpr int kLoaderPatiences = 3;

std::string text_of(const std::vector<ShardInterval>& deal) {
  std::string text;
  for (const ShardInterval& interval : deal) {
    text += text.empty() ? "" : " ";
    text += interval.begin == interval.end
                ? "-"
                : std::to_string(interval.begin) + "-" + std::to_string(interval.end - 1);
  }
  return text;
}

// Whether a replica of the view has done what these have not.
bool others_wait(const View& view, const Membership& membership, const std::vector<NodeName>& behind) {
  return std::ranges::any_of(view.replicas, [&](const Member& each) {
    return membership.alive(each.name) && std::ranges::find(behind, each.name) == behind.end();
  });
}

}  // namespace

void CoordinatorState::on(const Heartbeat& message) {
  membership_->heard(message);
  if (!membership_->alive(message.name)) return;
  watch_->heard(message, elapsed());
  if (!in_force()) return;
  if (const auto move = watch_->shed()) {
    raise(make_event("shed", {{"view", static_cast<std::int64_t>(view_.number)},
                              {"shards", text_of(move->deal)},
                              {"reason", move->reason}}));
    close_view();
  }
}

// The others see only that its compute thread is busy; its heartbeats say that this is a read, and for how
// long.
bool CoordinatorState::reads_itself(const HeldUp& message) const {
  const Work& work = membership_->at(message.late()).last.work;
  return view_.loaders.empty() && work.call.kind == ThreadCall::Kind::reads &&
         2 * std::chrono::duration<double, std::milli>(work.calling).count() > message.waited_ms;
}

void CoordinatorState::on(const HeldUp& said) {
  if (end_.decided() || !in_force() || !membership_->alive(said.late())) return;
  HeldUp message = said;
  if (message.cause == text_of(LateCause::compute) && reads_itself(message))
    message.cause = text_of(LateCause::data);
  const ClusterWatch::Judgement judgement =
      watch_->held_up(message, elapsed(), membership_->transfers().newcomers(NodeStage::caught_up));
  if (!follow(judgement) && judgement.drops) close_view();
}

bool CoordinatorState::judge() {
  if (phase_ != CoordinatorPhase::running) in_force_since_ = self_->clock().now();
  const auto judgement =
      watch_->judge([this](const NodeName& who) { return membership_->alive(who); }, elapsed());
  see(judgement.sight);
  if (judgement.sight == SelfDoubt::Sight::all_silent) {
    for (const Event& event : judgement.events) raise(event);
    return give_up_silence();
  }
  if (phase_ == CoordinatorPhase::adopting && judge_returns()) return true;
  if (judge_going_back(true)) return true;
  const bool owed = !watch_->in_doubt(elapsed()) &&
                    !gathering_.tries_to_begin_anew();  // of a view that is void nobody owes anything
  if (owed && (judge_closing() || judge_installing() || judge_loaders() || judge_hanging())) return true;
  return follow(judgement);
}

// All members silent, or most of them at once: said when it begins, and when they are heard again.
void CoordinatorState::see(SelfDoubt::Sight sight) {
  const auto now = self_->clock().now();
  const auto change = silence_.see(sight, now);
  if (change == MemberSilence::Change::none) return;
  const auto& cluster = setup_.job.cluster;
  const auto view = static_cast<std::int64_t>(view_.number);
  if (change == MemberSilence::Change::ends) {
    raise(make_event("heard_again", {{"view", view}, {"after_ms", milliseconds(silence_.lasted(now))}}));
    return;
  }
  const auto wait = sight == SelfDoubt::Sight::all_silent
                        ? cluster.give_up_after
                        : SelfDoubt::kMajorityPatiences * cluster.detect.patience;
  raise(make_event("paused",
                   {{"view", view}, {"waits_for", watch_->missing()}, {"give_up_ms", milliseconds(wait)}}));
}

bool CoordinatorState::give_up_silence() {
  const auto& cluster = setup_.job.cluster;
  if (silence_.lasted(self_->clock().now()) < cluster.give_up_after) return false;
  if (!begun_ && setup_.by_hand) return lose_all_silent();
  end_.give_up_silence();
  const bool any_checkpoint = checkpoints_->any() || checkpoints_->last_before(kAllSteps).has_value();
  fail("no message from any member for " + std::to_string(cluster.give_up_after.count()) +
       " ms (cluster.give_up_after). " + what_is_left(setup_.job, setup_.by_hand, any_checkpoint));
  return true;
}

// Before the first view nothing is lost with those who came: others may take their places.
bool CoordinatorState::lose_all_silent() {
  silence_.goes_on();
  std::vector<NodeName> here;
  for (const auto& [who, record] : membership_->nodes()) here.push_back(who);
  for (const NodeName& who : here) {
    if (membership_->find(who) && membership_->alive(who) && !watch_->in_touch(who, elapsed()))
      lost(who, "coordinator", "silent for cluster.give_up_after");
  }
  return true;
}

// A loader has no state to hand in and nobody to greet: it owes its answer at once. If it gives none, the
// thread of its data plane stands still.
bool CoordinatorState::judge_loaders() {
  const bool closing = phase_ == CoordinatorPhase::closing;
  if (!begun_ || (!closing && phase_ != CoordinatorPhase::installing)) return false;
  const auto patience = kLoaderPatiences * setup_.job.cluster.detect.patience;
  if (!timers_.is_over(PhaseTimers::Wait::loaders, patience)) return false;
  for (const auto& [who, record] : membership_->nodes()) {
    const NodeStage owed = closing ? NodeStage::closed : NodeStage::installed;
    if (!who.loader || !membership_->member(who) || record.stage == owed) continue;
    lost(who, "coordinator",
         std::string("it has not ") + (closing ? "closed" : "installed") + " view " +
             std::to_string(view_.number) + " within " +
             std::to_string(std::chrono::milliseconds(patience).count()) + " ms");
    return true;
  }
  return false;
}

// A member that lives, and whose messages do not end, holds up all: one after the other goes. Counted in
// ticks, so that a coordinator that was stopped itself does not blame others for it.
bool CoordinatorState::judge_closing() {
  if (phase_ != CoordinatorPhase::closing) return false;
  const auto open = not_closed(membership_->nodes());
  std::chrono::milliseconds patience = kClosingPatiences * setup_.job.cluster.detect.patience;
  if (end_.keeps_state() && others_wait(view_, *membership_, open)) patience = in_time(patience, 4);
  if (!timers_.is_over(PhaseTimers::Wait::closing, patience)) return false;
  timers_.restart(PhaseTimers::Wait::closing);
  if (open.empty()) return false;
  const NodeName who = who_holds_up(membership_->nodes(), open, setup_.job.cluster.detect.patience);
  const bool stands_still = plane_stands_still(membership_->at(who), setup_.job.cluster.detect.patience);
  lost(who, "coordinator",
       "view " + std::to_string(view_.number) + " is not closed within " +
           std::to_string(std::chrono::milliseconds(patience).count()) + " ms, and " +
           (stands_still ? "the thread of its data plane stands still"
                         : "what it sends or receives does not end"));
  return true;
}

// A member that does not come to be greeted by all would hold up the view for good. The first view has the
// time in which nodes may come.
bool CoordinatorState::judge_installing() {
  if (phase_ != CoordinatorPhase::installing || canary("installing-has-no-deadline")) return false;
  const auto& cluster = setup_.job.cluster;
  std::chrono::milliseconds patience = kInstallingPatiences * cluster.detect.patience;
  if (!begun_) patience = std::max(patience, cluster.start_patience);
  const auto open = not_installed(membership_->nodes());
  if (end_.keeps_state() && others_wait(view_, *membership_, open)) patience = in_time(patience, 4);
  if (!timers_.is_over(PhaseTimers::Wait::installing, patience)) return false;
  timers_.restart(PhaseTimers::Wait::installing);
  if (open.empty()) return false;
  const NodeName who = who_holds_up(membership_->nodes(), open, setup_.job.cluster.detect.patience);
  lost(who, "coordinator",
       "view " + std::to_string(view_.number) + " is not in force within " +
           std::to_string(patience.count()) + " ms, and " +
           (plane_stands_still(membership_->at(who), cluster.detect.patience)
                ? "the thread of its data plane stands still"
                : "what members send to it, to greet it, does not arrive"));
  return true;
}

// Whether anybody is lost by it. Where nothing may be lost by choice, a straggler is better than a pause.
bool CoordinatorState::follow(const ClusterWatch::Judgement& judgement) {
  for (const Event& event : judgement.events) raise(event);
  if (!judgement.losses.empty()) silence_.goes_on();  // it goes on without them
  for (const auto& loss : judgement.losses) {
    if (end_.decided() || !membership_->alive(loss.name)) continue;
    if (loss.pace == ClusterWatch::Pace::unknown) {
      lost(loss.name, loss.noticed_by, loss.reason);
    } else {
      lose_hanging(loss.name, loss.noticed_by, loss.pace == ClusterWatch::Pace::stuck, loss.reason);
    }
  }
  return !judgement.losses.empty();
}

}  // namespace muster
