// What a replica does, as its heartbeats say, and for how long.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include "actors/messages/report_messages.hpp"
#include "transport/collective/rounds/progress.hpp"

namespace muster {

/// What a replica does, and for how long without any progress.
struct Work {
  Activity activity = Activity::idle;
  ThreadCall call;         ///< that its compute thread is in, whatever else is asked of it
  std::uint64_t step = 0;  ///< the one behind the last step that it has applied
  std::chrono::milliseconds doing{0}, calling{0};

  /// Whether it does this by itself, and waits for nobody.
  bool may_hang() const {
    return call.kind != ThreadCall::Kind::none || activity == Activity::loading ||
           activity == Activity::computing || activity == Activity::updating;
  }
  bool waits_for_data() const { return call.kind == ThreadCall::Kind::none && activity == Activity::loading; }
  /// A thread that computes or updates. Who waits for data may have a loader that is slow.
  std::chrono::milliseconds hangs_for() const {
    return std::max(calling, activity == Activity::loading ? std::chrono::milliseconds(0) : doing);
  }
  std::chrono::milliseconds stands_for() const { return std::max(calling, doing); }
  /// "has been computing shard 3 of step 17 for 5000 ms"
  std::string text() const;
};

/// "shard 3 of step 17", "shard 3 after step 17" for an evaluation. Of a call of the model.
std::string place_of(const ThreadCall& call);

Work work_of(const Heartbeat& message);

}  // namespace muster
