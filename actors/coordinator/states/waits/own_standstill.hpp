// Time in which the coordinator itself stood still: nothing could come to it, so no wait is over for that.
// Pure. For one thread at a time.
#pragma once

#include <chrono>
#include <optional>

namespace muster {

class OwnStandstill {
 public:
  using Duration = std::chrono::nanoseconds;
  using Time = std::chrono::steady_clock::time_point;

  /// Called at each tick. For how long it stood still since the last one: 0, if less than `least`.
  Duration tick(Time now, Duration least);
  /// All of it.
  Duration total() const { return total_; }

 private:
  std::optional<Time> ticked_at_;
  Duration total_{0};
};

}  // namespace muster
