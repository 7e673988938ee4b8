#include "transport/collective/reduction/view_members.hpp"

#include "base/canary.hpp"

namespace muster {

std::optional<Frame> ViewMembers::received(const Frame& frame, std::uint64_t round) const {
  const auto place = place_of(frame.from);
  if (!place || *place == shape_.self) return std::nullopt;
  const bool belongs = (frame.view == shape_.view || canary("old-view")) &&
                       frame.incarnation == shape_.members[*place].incarnation &&
                       (frame.round == round || frame.round == round + 1);
  if (!belongs) return std::nullopt;
  // Copied before it is changed: a copy after a narrow write waits until all writes before it have left
  // this core.
  std::optional<Frame> of_member(frame);
  of_member->from = *place;
  return of_member;
}

}  // namespace muster
