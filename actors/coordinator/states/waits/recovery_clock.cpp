#include "actors/coordinator/states/waits/recovery_clock.hpp"

#include <algorithm>

namespace muster {

void RecoveryClock::loses(Time now) {
  if (!lost_since_) lost_since_ = now;
}

std::optional<RecoveryClock::Duration> RecoveryClock::makes_step(Time now) {
  const auto since = std::exchange(lost_since_, std::nullopt);
  if (!since) return std::nullopt;
  return now - *since;
}

void RecoveryClock::pause(std::string missing, Time now) {
  missing_ = std::move(missing);
  if (!paused_since_) paused_since_ = now;
}

RecoveryClock::Duration RecoveryClock::left(Time now, Duration give_up) const {
  return std::max<Duration>(give_up - (now - *paused_since_), Duration(0));
}

void RecoveryClock::stood_still(Duration gap, Time now) {
  if (paused_since_) paused_since_ = std::min<Time>(*paused_since_ + gap, now);
}

}  // namespace muster
