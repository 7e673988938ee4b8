#include "actors/rules/nodes/own_standstill.hpp"

#include <utility>

namespace muster {

OwnStandstill::Duration OwnStandstill::tick(Time now, Duration least) {
  const Duration gap = now - std::exchange(ticked_at_, now).value_or(now);
  if (gap < least) return Duration(0);
  total_ += gap;
  return gap;
}

}  // namespace muster
