#include "actors/coordinator/states/run_end.hpp"

#include <algorithm>
#include <utility>

namespace muster {

void RunEnd::keep_state(std::string outcome, std::string reason, Time until) {
  keeping_ = Keeping{std::move(outcome), std::move(reason), until, false};
}

void RunEnd::stood_still(Duration gap, Time now, Duration grace) {
  if (keeping_) keeping_->until = std::min<Time>(keeping_->until + gap, now + grace);
}

// Whoever sends a signal to the coordinator sends it to its nodes, too.
RunEnd::Told RunEnd::told_to_end(const std::string& reason, bool waits) {
  if (decided() || (keeping_ && waits)) return Told::known;
  if (!keeping_) return Told::first;
  if (std::exchange(keeping_->told, true)) return Told::second;
  if (keeping_->outcome != "interrupted") return Told::notice;
  keeping_->reason = reason;
  return Told::known;
}

void RunEnd::decide(Time now) {
  decided_at_ = now;
}

bool RunEnd::parting_is_over(Time now) const {
  return decided_at_ && now - *decided_at_ >= kPartingPatience;
}

bool RunEnd::may_wait_for_marks(Time now) const {
  return decided_at_ && !finished_ && now - *decided_at_ < kMarksMax;
}

bool RunEnd::finish() {
  return !std::exchange(finished_, true);
}

}  // namespace muster
