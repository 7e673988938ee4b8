// How the coordinator watches its nodes: what is told to it of life, links and lateness, and what follows.
#include "muster/actors/coordinator.hpp"

namespace muster {

namespace {

// A long update, or a slow link, may hold up the end of a view for a while.
constexpr int kClosingPatiences = 20;

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

}  // namespace

void CoordinatorState::on(const Heartbeat& message) {
  roster_->heard(message, elapsed());
  if (!roster_->alive(message.name)) return;
  watch_->heard(message, elapsed());
  if (!in_force()) return;
  if (const auto move = watch_->shed()) {
    raise(make_event("shed", {{"view", static_cast<std::int64_t>(view_.number)},
                              {"shards", text_of(move->deal)},
                              {"reason", move->reason}}));
    close_view();
  }
}

void CoordinatorState::on(const HeldUp& message) {
  if (ending_ || !in_force() || !roster_->alive({false, message.slot})) return;
  const ClusterWatch::Judgement judgement = watch_->held_up(message);
  if (!follow(judgement) && judgement.drops) close_view();
}

bool CoordinatorState::judge() {
  // Members that have not come back to a coordinator that was started anew are not watched yet.
  if (phase_ == Phase::adopting) {
    if (const auto silent = roster_->silent(elapsed(), parts_.job.cluster.detect.patience)) {
      const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(silent->silence).count();
      lost(silent->name, "coordinator", "silent for " + std::to_string(ms) + " ms");
      return true;
    }
  }
  if (judge_closing()) return true;
  return follow(watch_->judge([this](const NodeName& who) { return roster_->alive(who); }, elapsed()));
}

// A member that lives, and whose messages do not end, holds up all: one after the other goes. Counted in
// ticks, so that a coordinator that was stopped itself does not blame others for it.
bool CoordinatorState::judge_closing() {
  if (phase_ != Phase::closing) return false;
  const auto patience = kClosingPatiences * parts_.job.cluster.detect.patience;
  if (++closing_ticks_ * kTick < patience) return false;
  closing_ticks_ = 0;
  const auto open = roster_->not_closed();
  if (open.empty()) return false;
  lost(open.back(), "coordinator",
       "it has not closed view " + std::to_string(view_.number) + " within " +
           std::to_string(std::chrono::milliseconds(patience).count()) +
           " ms: what it sends or receives does not end");
  return true;
}

// Whether anybody is lost by it. Where nothing may be lost by choice, a straggler is better than a pause.
bool CoordinatorState::follow(const ClusterWatch::Judgement& judgement) {
  for (const Event& event : judgement.events) raise(event);
  for (const auto& loss : judgement.losses) {
    if (!ending_ && roster_->alive(loss.name)) lost(loss.name, loss.noticed_by, loss.reason);
  }
  return !judgement.losses.empty();
}

}  // namespace muster
