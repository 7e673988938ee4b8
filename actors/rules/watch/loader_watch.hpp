// What a replica's node makes of a loader process that it waits for: a pure rule over what the data plane
// sees of it. It says who is late, that the link is broken, and when demands are to be asked again.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "actors/messages/end_messages.hpp"
#include "actors/messages/view.hpp"
#include "muster/job.hpp"
#include "transport/collective/rounds/liveness.hpp"

namespace muster {

class LoaderWatch {
 public:
  using Time = std::chrono::nanoseconds;

  /// While a micro-batch arrives, an answer to a ping may stand behind it: its loader may be silent for so
  /// many times cluster.detect.patience.
  static constexpr int kArrivingPatiences = 5;
  /// A loader that owes nothing, although something was asked of it, is asked again after so many times
  /// cluster.detect.patience.
  static constexpr int kAskAgainPatiences = 5;
  /// Without a single micro-batch for so many times cluster.straggler.stuck_after a loader is stuck, whatever
  /// else it does.
  static constexpr int kStuckAtLast = 10;

  LoaderWatch(std::uint32_t self, const ClusterConfig& cluster) : self_(self), cluster_(cluster) {}

  struct Findings {
    std::optional<HeldUp> held_up;
    std::optional<Failing> complaint;  ///< of the link
    bool ask_again = false;
  };
  /// `loader`: the one that is seen; `step`: the one that this node's replica loads for. Lateness is said
  /// for each micro-batch that is waited for, and again after each further patience: a coordinator that was
  /// started anew, or stood still, has not heard of it.
  Findings of(const LoadingSight& sight, const NodeName& loader, std::uint64_t step);

 private:
  struct Said {
    std::uint32_t view = 0;
    Time waiting_since{0};
    std::optional<Time> late;  // when last
    bool stuck = false;
    std::optional<Time> link;
  };

  bool is_stuck(const LoadingSight& sight) const;
  Time silence_allowed(const LoadingSight& sight) const;
  bool is_news(bool stuck, Time now);

  std::uint32_t self_;
  ClusterConfig cluster_;
  Said said_;  // of this wait
  Time silent_at_{
      0};  // when nothing was heard last, for a patience: what was asked before may not have arrived
};

}  // namespace muster
