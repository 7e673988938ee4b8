#include "actors/coordinator/states/waits/phase_timers.hpp"

namespace muster {

bool PhaseTimers::is_over(Wait wait, std::chrono::nanoseconds patience, bool counts) {
  ticks(wait) += counts ? 1 : 0;
  return ticks(wait) * tick_ >= patience;
}

}  // namespace muster
