// A clock that stands still while nobody looks at it. A process that was stopped, or whose machine was
// suspended, wakes among peers that stood still with it, or have gone on: the time between is nobody's
// silence, and nobody's lateness.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace muster {

class AwakeClock {
 public:
  using Time = std::chrono::nanoseconds;

  /// `between_looks`: at most, while the process runs. Of a longer time twice that counts.
  explicit AwakeClock(Time between_looks) : most_(2 * between_looks) {}

  /// `now`: of a clock that never stands still. Returns the time of this one, which begins with the first
  /// `now`.
  Time look(Time now) {
    counted_ += looked_at_ ? std::min(now - *looked_at_, most_) : now;
    looked_at_ = now;
    return counted_;
  }

 private:
  Time most_;
  Time counted_{0};
  std::optional<Time> looked_at_;
};

}  // namespace muster
