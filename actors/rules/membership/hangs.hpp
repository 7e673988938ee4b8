// Replicas that live, and whose threads do nothing: what is known of that, and when it is a reason to end the
// run. Pure rules.
//
// One that hangs is lost, and another one takes its shards over. Where that one hangs at the same micro-batch
// it is the model's code that does not return: no view change helps. Nor does one where whoever computes a
// micro-batch is evicted for being late (cluster.straggler.action), again and again.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

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

Work work_of(const Heartbeat& message);

class Hangs {
 public:
  /// So many micro-batches at which a replica has hung are remembered.
  static constexpr std::size_t kPlacesMax = 1024;

  /// So often each place of the job may have lost its replica at one micro-batch for being late.
  static constexpr std::uint32_t kEvictionsOfEach = 3;

  /// Why the run ends for one that is to be lost, for it hangs (`stuck`), or is late: another one has hung at
  /// the same micro-batch, or kEvictionsOfEach * replicas were evicted there. Empty: it goes on.
  std::string ends_for(const NodeName& who, const Work& work, bool stuck, std::uint32_t replicas) const;
  /// It is lost for that.
  void note(const NodeName& who, const Work& work, bool stuck);

 private:
  struct Lost {
    std::set<NodeName> hung, late;
  };
  using Place = std::tuple<ThreadCall::Kind, std::uint64_t, std::uint32_t>;  // of a step and a shard
  std::map<Place, Lost> lost_at_;
};

}  // namespace muster
