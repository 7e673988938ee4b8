// Whether this node does nothing but wait for micro-batches, and what it sees of the loaders on other nodes
// that owe it some. Times are handed in.
//
// Thread rule: that of the engine, which it belongs to.
#pragma once

#include <chrono>

#include "transport/collective/engine/demand_book.hpp"
#include "transport/collective/rounds/liveness.hpp"
#include "transport/collective/rounds/progress.hpp"

namespace muster {

class LoadingWatch {
 public:
  using Time = std::chrono::nanoseconds;

  /// A new view: what the node did before says nothing.
  void enter() { status_ = {}; }
  /// At each tick: whether the node has been waiting since the last one, and has got nothing. `now()` is
  /// called only where it has not.
  template <typename Clock>
  bool still(const ProgressStatus& status, const Clock& now) {
    const bool still = status.activity == Activity::loading && status == status_;
    if (!still) since_ = now();
    status_ = status;
    return still;
  }
  /// This loader, without what only the engine knows: the view, and whether something of it is arriving.
  LoadingSight sight(PeerId loader, const Liveness& liveness, const DemandBook& demands, Time now) const;

 private:
  ProgressStatus status_;  // of this node, at the last tick
  Time since_{0};          // it says so
};

}  // namespace muster
