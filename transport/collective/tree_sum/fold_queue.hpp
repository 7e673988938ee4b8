// What follows when folds have ended that a FoldUnit computes aside, in their order. On the host, whose folds
// have ended when they return, nothing is ever queued.
//
// Thread rule: that of the sum, which it belongs to.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "transport/collective/sums/fold_unit.hpp"

namespace muster {

template <class Next>
class FoldQueue {
 public:
  /// `unit` outlives this object; null: the host computes.
  explicit FoldQueue(FoldUnit* unit) : unit_(unit) {}

  /// A fold was begun: what comes next waits for it.
  void begun(std::uint64_t fold) { last_fold_ = fold; }
  /// Keeps what follows the last fold. Returns false if it need not wait: then the caller does it.
  bool defer(const Next& next) {
    if (unit_ == nullptr || (waiting_.empty() && unit_->ended() >= last_fold_)) return false;
    waiting_.push_back({last_fold_, next});
    return true;
  }
  /// The first one whose fold has ended; nothing if there is none.
  std::optional<Next> take() {
    if (waiting_.empty() || unit_->ended() < waiting_.front().after) return std::nullopt;
    std::optional<Next> next(waiting_.front().next);
    waiting_.pop_front();
    return next;
  }

  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }

 private:
  struct Waiting {
    std::uint64_t after = 0;  // number of the fold
    Next next;
  };

  FoldUnit* const unit_;
  std::uint64_t last_fold_ = 0;  // that was begun; 0: none
  std::deque<Waiting> waiting_;
};

}  // namespace muster
