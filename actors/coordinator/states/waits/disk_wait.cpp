#include "actors/coordinator/states/waits/disk_wait.hpp"

#include <algorithm>

#include "actors/messages/disk_retry.hpp"

namespace muster {

bool DiskWait::refused(Time now) {
  if (since_) return false;
  since_ = now;
  wait_ = kDiskAgainMin;
  return true;
}

std::optional<DiskWait::Duration> DiskWait::next(Time now, Duration give_up) const {
  return disk_again_in(wait_, now - *since_, give_up);
}

void DiskWait::back_off() {
  wait_ = disk_back_off(wait_);
}

void DiskWait::stood_still(Duration gap, Time now) {
  if (since_) since_ = std::min<Time>(*since_ + gap, now);
}

}  // namespace muster
