// For how long the coordinator has waited in each phase, counted in its ticks: time in which it did not run
// itself is nobody's delay. Pure. For one thread at a time.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>

namespace muster {

class PhaseTimers {
 public:
  enum class Wait {
    returns,     ///< for members of a restarted coordinator, since the last one came back
    closing,     ///< for a view to be closed, since the last one was lost for it
    installing,  ///< for a view to be in force, likewise
    loaders,     ///< for loaders that owe an answer on a view
    going_back,  ///< for others, since a replica said that it cannot go back
    reading,     ///< for a replica to say that it has read the checkpoint of its view
  };

  explicit PhaseTimers(std::chrono::milliseconds tick) : tick_(tick) {}

  void restart(Wait wait) { ticks(wait) = 0; }
  /// One more tick. How long it is now.
  std::chrono::milliseconds pass(Wait wait) { return ++ticks(wait) * tick_; }
  /// One more tick, if `counts`. True: it has been as long as this.
  bool is_over(Wait wait, std::chrono::nanoseconds patience, bool counts = true);

 private:
  int& ticks(Wait wait) { return ticks_[static_cast<std::size_t>(wait)]; }

  std::chrono::milliseconds tick_;
  std::array<int, 6> ticks_{};
};

}  // namespace muster
