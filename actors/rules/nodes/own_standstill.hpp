// Time in which this process itself stood still (SIGSTOP, a machine that sleeps): nothing could come to it,
// so no wait is over for that. Pure. For one thread at a time.
#pragma once

#include <chrono>
#include <optional>

namespace muster {

class OwnStandstill {
 public:
  using Duration = std::chrono::nanoseconds;
  using Time = std::chrono::steady_clock::time_point;

  /// The first tick follows.
  void begin(Time now) { ticked_at_ = now; }
  /// Called at each tick. For how long it stood still since the last one: 0, if less than `least`.
  Duration tick(Time now, Duration least);
  /// All of it.
  Duration total() const { return total_; }

 private:
  std::optional<Time> ticked_at_;
  Duration total_{0};
};

}  // namespace muster
