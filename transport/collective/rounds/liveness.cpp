#include "transport/collective/rounds/liveness.hpp"

#include <algorithm>
#include <utility>

namespace muster {

namespace {

std::chrono::nanoseconds& spent_with(std::array<std::chrono::nanoseconds, kActivities>& spent,
                                     const ProgressStatus& status) {
  return spent[static_cast<std::size_t>(status.activity)];
}

}  // namespace

void StepClock::step_took(std::chrono::nanoseconds time) {
  last_[steps_++ % kWindow] = time;
}

std::chrono::nanoseconds StepClock::median() const {
  if (steps_ == 0) return std::chrono::nanoseconds{0};
  auto sorted = last_;
  const auto count = static_cast<std::ptrdiff_t>(std::min(steps_, kWindow));
  std::nth_element(sorted.begin(), sorted.begin() + count / 2, sorted.begin() + count);
  return sorted[static_cast<std::size_t>(count / 2)];
}

void Liveness::enter() {
  peers_.clear();
  last_done_.reset();
  looked_at_.reset();
}

void Liveness::asked(PeerId peer, Time now) {
  auto& since = peers_[peer].unanswered_since;
  if (!since) since = now;
}

void Liveness::told(PeerId peer, const ProgressStatus& status, Time now, std::uint64_t owes) {
  Known& known = peers_[peer];
  if (known.told != Time{0}) spent_with(known.spent, known.doing) += now - known.told;
  if (known.progress == Time{0} || status.counter != known.doing.counter) known.progress = now;
  known.doing = status;
  known.told = known.status_at = now;
  known.owes = owes;
}

std::uint64_t Liveness::owes(PeerId peer) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? 0 : found->second.owes;
}

void Liveness::round_done(bool step, Time now) {
  if (step && last_done_) clock_.step_took(now - *last_done_);
  last_done_ = now;
  looked_at_.reset();
}

void Liveness::describe(PeerSight& sight, Time now) const {
  const auto found = peers_.find(sight.peer);
  if (found == peers_.end()) return;
  const Known& known = found->second;
  sight.unanswered_since = known.unanswered_since;
  sight.progress = known.progress;
  sight.status_at = known.status_at;
  sight.doing = known.doing;
  sight.spent = known.spent;
  if (known.told != Time{0}) spent_with(sight.spent, known.doing) += now - known.told;
}

bool Liveness::again(std::uint64_t round) {
  const bool seen = std::exchange(looked_at_, round) == round;
  if (!seen) {
    for (auto& [peer, known] : peers_) {
      known.told = Time{0};
      known.spent = {};
    }
  }
  return seen;
}

StatusBody body_of(const ProgressStatus& status) {
  StatusBody body;
  body.activity = static_cast<std::uint32_t>(status.activity);
  body.shard = status.shard;
  body.counter = status.counter;
  return body;
}

std::optional<ProgressStatus> status_in(const StatusBody& body) {
  static_assert(StatusBody::kActivities == kActivities);
  if (!body.invalid().empty()) return std::nullopt;
  return ProgressStatus{static_cast<Activity>(body.activity), body.shard, body.counter};
}

}  // namespace muster
