#include "actors/coordinator/states/checkpoints/mount_wait.hpp"

#include <algorithm>

#include "actors/messages/disk_retry.hpp"

namespace muster {

bool MountWait::missed(bool by_all, Time now) {
  if (missed_ && (!by_all || missed_->by_all)) return false;
  missed_ = Missed{by_all, now, kDiskAgainMin, now, {}};
  return true;
}

bool MountWait::look_again(const std::vector<std::uint32_t>& slots, Time now, Duration give_up) {
  missed_->looked.insert(slots.begin(), slots.end());
  const Time until = missed_->since + give_up;
  if (missed_->by_all && missed_->again >= until) return false;
  missed_->again = std::max<Time>(now, std::min<Time>(now + missed_->wait, until));
  missed_->wait = disk_back_off(missed_->wait);
  return true;
}

bool MountWait::may_find(std::uint32_t slot, Duration give_up) const {
  if (!missed_) return true;
  if (missed_->by_all) return missed_->again < missed_->since + give_up;
  return !missed_->looked.contains(slot);
}

std::optional<MountWait::Time> MountWait::next_look(Time now) const {
  if (!missed_ || now >= missed_->again) return std::nullopt;
  return missed_->again;
}

void MountWait::stood_still(Duration gap, Time now) {
  if (missed_) missed_->since = std::min<Time>(missed_->since + gap, now);
}

}  // namespace muster
