// How long nodes are waited for before the first view. Members of a view that a journal lacks may come to a
// coordinator that was started again; and places are free for a while where nodes are started by hand.
// Counted in ticks. Pure. For one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace muster {

class Gathering {
 public:
  explicit Gathering(std::chrono::milliseconds tick) : tick_(tick) {}

  // --- members of a view that the journal lacks

  void wait_for_unknown_members(std::chrono::milliseconds time) { unknown_ticks_ = time / tick_; }
  bool waits_for_unknown_members() const { return unknown_ticks_ > 0; }
  /// How long they are waited for still.
  std::chrono::milliseconds left() const { return unknown_ticks_ * tick_; }
  /// One more tick. True: they would be here by now.
  bool wait_ends() { return unknown_ticks_ > 0 && --unknown_ticks_ == 0; }

  // --- nobody comes

  /// People start one node after the other by hand: so many times cluster.start_patience pass before nobody
  /// comes any more.
  static constexpr int kPatienceTimes = 10;
  /// A node has come, or one is gone: others have the whole time again.
  void changed() { quiet_ticks_ = 0; }
  /// One more tick in which nobody came. True: that lasts too long.
  bool nobody_comes(std::chrono::milliseconds patience) { return ++quiet_ticks_ * tick_ >= patience; }

  // --- places that are free

  /// Since now: one who was here is gone.
  void place_is_free();
  bool has_free_place() const { return free_ticks_.has_value(); }
  /// All places are taken, or the run goes on with others.
  void none_is_free() { free_ticks_.reset(); }
  /// One more tick. True: the run begins without those who have not come.
  bool patience_is_over(std::chrono::milliseconds patience);
  /// Too few are here to begin. True: that was not said.
  bool too_few() { return !std::exchange(said_, true); }

  // --- the first view is void

  /// All are to join anew, once the journal says so: it is tried until it does, or until that is void.
  void try_to_begin_anew(bool again) { again_ = again; }
  bool tries_to_begin_anew() const { return again_; }

 private:
  std::chrono::milliseconds tick_;
  std::int64_t unknown_ticks_ = 0;
  std::int64_t quiet_ticks_ = 0;
  std::optional<int> free_ticks_;
  bool said_ = false;
  bool again_ = false;
};

}  // namespace muster
