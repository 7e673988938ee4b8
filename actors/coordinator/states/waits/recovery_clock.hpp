// Since when no step was made: a member was lost, or nodes are missing and the run is paused. Pure. For one
// thread at a time.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace muster {

class RecoveryClock {
 public:
  using Duration = std::chrono::nanoseconds;
  using Time = std::chrono::steady_clock::time_point;

  // --- losses

  /// A member is lost. The first one counts, until a step is made.
  void loses(Time now);
  /// A step is made: the time since the first loss, if any member was lost.
  std::optional<Duration> makes_step(Time now);

  // --- a pause

  /// This is missing. A pause that was interrupted by another view goes on.
  void pause(std::string missing, Time now);
  const std::string& missing() const { return missing_; }
  /// How long it may last still.
  Duration left(Time now, Duration give_up) const;
  /// Call only in a pause.
  bool is_over(Time now, Duration give_up) const { return now - *paused_since_ >= give_up; }
  /// A view is in force.
  void end_pause() { paused_since_.reset(); }
  /// Time in which nobody could come does not count.
  void stood_still(Duration gap, Time now);

 private:
  std::optional<Time> lost_since_;
  std::optional<Time> paused_since_;
  std::string missing_;
};

}  // namespace muster
