// For how long the threads of a node do the same, as its heartbeats say: one that hangs lives, and says so
// itself. For one thread at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>

#include "transport/collective/rounds/progress.hpp"

namespace muster {

class OwnActivity {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Milliseconds = std::chrono::milliseconds;

  /// To be called before each heartbeat. Time in which this process did not run is nobody's standstill: a gap
  /// of `patience` or more does not count.
  void look(Time now, Milliseconds patience);

  /// Without any progress. Who waits for others, or for its disk, hangs in nothing: 0.
  Milliseconds doing(const ProgressStatus& status, Time now);
  /// In this call; 0 in none.
  Milliseconds in_call(const ThreadCall& call, Time now);
  /// Where the data plane has done what it was told, it is told something now: what to set, on its thread,
  /// when it has done that. Else nothing.
  std::shared_ptr<std::atomic<bool>> tell_data_plane(Time now);
  /// Since it was told what it has not done yet.
  Milliseconds data_plane_stands(Time now) const;

 private:
  ProgressStatus status_;
  ThreadCall call_;
  std::shared_ptr<std::atomic<bool>> plane_is_free_ = std::make_shared<std::atomic<bool>>(true);
  Time status_since_{}, call_since_{}, plane_told_{}, looked_at_{};
};

}  // namespace muster
