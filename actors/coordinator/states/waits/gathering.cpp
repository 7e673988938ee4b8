#include "actors/coordinator/states/waits/gathering.hpp"

namespace muster {

void Gathering::place_is_free() {
  changed();
  free_ticks_ = 0;
  said_ = false;
}

bool Gathering::patience_is_over(std::chrono::milliseconds patience) {
  return free_ticks_ && ++*free_ticks_ * tick_ >= patience;
}

}  // namespace muster
