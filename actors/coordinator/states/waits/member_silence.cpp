#include "actors/coordinator/states/waits/member_silence.hpp"

#include <algorithm>
#include <utility>

namespace muster {

MemberSilence::Change MemberSilence::see(Sight sight, Time now) {
  if (sight == std::exchange(sight_, sight)) return Change::none;
  if (sight == Sight::clear) return Change::ends;
  since_ = now;
  return Change::begins;
}

void MemberSilence::stood_still(Duration gap, Time now) {
  since_ = std::min<Time>(since_ + gap, now);
}

}  // namespace muster
