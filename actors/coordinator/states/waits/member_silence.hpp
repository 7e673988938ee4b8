// All members are silent, or most of them at once (rules/watch/self_doubt.hpp): nothing is decided for
// silence until they are heard again, or for so long that the run is given up. Pure. For one thread at a
// time.
#pragma once

#include <chrono>

#include "actors/rules/watch/self_doubt.hpp"

namespace muster {

class MemberSilence {
 public:
  using Duration = std::chrono::nanoseconds;
  using Time = std::chrono::steady_clock::time_point;
  using Sight = SelfDoubt::Sight;

  enum class Change { none, begins, ends };
  /// What is seen of the members now. `begins`, too, where all are silent after most were.
  Change see(Sight sight, Time now);
  /// The run goes on without those that are silent.
  void goes_on() { sight_ = Sight::clear; }
  bool lasts() const { return sight_ != Sight::clear; }
  /// Since it began last.
  Duration lasted(Time now) const { return now - since_; }
  /// Time in which nobody could be heard does not count.
  void stood_still(Duration gap, Time now);

 private:
  Sight sight_ = Sight::clear;
  Time since_{};
};

}  // namespace muster
