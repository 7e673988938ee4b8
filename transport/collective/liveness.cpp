#include "muster/transport/collective/liveness.hpp"

#include <algorithm>
#include <utility>

namespace muster {

void StepClock::step_took(std::chrono::nanoseconds time) {
  last_.push_back(time);
  if (last_.size() > kWindow) last_.pop_front();
}

std::chrono::nanoseconds StepClock::median() const {
  if (last_.empty()) return std::chrono::nanoseconds{0};
  std::vector<std::chrono::nanoseconds> sorted(last_.begin(), last_.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

void Liveness::enter() {
  peers_.clear();
  last_done_.reset();
  looked_at_.reset();
}

void Liveness::told(PeerId peer, const ProgressWord& word, Time now) {
  Known& known = peers_[peer];
  if (known.progress == Time{0} || word.counter != known.doing.counter) known.progress = now;
  known.doing = word;
}

void Liveness::round_done(bool step, Time now) {
  if (step && last_done_) clock_.step_took(now - *last_done_);
  last_done_ = now;
  looked_at_.reset();
}

void Liveness::describe(PeerSight& sight) const {
  const auto found = peers_.find(sight.peer);
  if (found == peers_.end()) return;
  sight.heard = found->second.heard;
  sight.progress = found->second.progress;
  sight.doing = found->second.doing;
}

bool Liveness::again(std::uint64_t round) {
  return std::exchange(looked_at_, round) == round;
}

void put_word(const ProgressWord& word, Frame& frame) {
  frame.node = static_cast<std::uint32_t>(word.activity);
  frame.extra = word.shard;
  frame.more = word.counter;
}

std::optional<ProgressWord> word_in(const Frame& frame) {
  if (frame.node >= kActivities) return std::nullopt;
  return ProgressWord{static_cast<Activity>(frame.node), frame.extra, frame.more};
}

}  // namespace muster
