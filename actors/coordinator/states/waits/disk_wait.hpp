// How long a disk that refuses is tried again, and when next: the wait doubles with each refusal. Pure. For
// one thread at a time.
#pragma once

#include <chrono>
#include <optional>

namespace muster {

class DiskWait {
 public:
  using Duration = std::chrono::nanoseconds;
  using Time = std::chrono::steady_clock::time_point;

  /// The disk refuses. True: it did not before.
  bool refused(Time now);
  bool waits() const { return since_.has_value(); }
  /// Until the next try; nothing: it has refused for `give_up`. Call only while it refuses.
  std::optional<Duration> next(Time now, Duration give_up) const;
  void back_off();
  /// It refuses no more.
  void end() { since_.reset(); }
  /// Time in which nobody could try does not count.
  void stood_still(Duration gap, Time now);

 private:
  std::optional<Time> since_;
  Duration wait_{0};
};

}  // namespace muster
