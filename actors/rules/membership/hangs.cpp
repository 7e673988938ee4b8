#include "actors/rules/membership/hangs.hpp"

#include <algorithm>

namespace muster {

std::string Hangs::ends_for(const NodeName& who, const Work& work, bool stuck, std::uint32_t replicas) const {
  if (!work.call.is_of_model()) return {};
  const auto found = lost_at_.find(Place{work.call.kind, work.call.step, work.call.shard});
  if (found == lost_at_.end()) return {};
  const auto& [hung, late] = found->second;
  const std::string at = place_of(work.call);
  const auto before = std::ranges::find_if(hung, [&](const NodeName& each) { return each != who; });
  if (stuck && before != hung.end()) {
    return "two replicas have hung at " + at + ", " + name_of_(*before) + " and then " + name_of_(who) +
           ", each for cluster.straggler.stuck_after: the model's code does not return there; if it needs "
           "longer, raise that time";
  }
  if (late.size() < kEvictionsOfEach * std::max(replicas, 1u)) return {};
  return std::to_string(late.size()) + " replicas were evicted at " + at +
         ": whoever computes it takes longer than cluster.straggler.patience, and cluster.straggler.action "
         "is "
         "\"evict\"; raise the one, or take another action";
}

void Hangs::note(const NodeName& who, const Work& work, bool stuck) {
  if (!work.call.is_of_model()) return;
  if (lost_at_.size() >= kPlacesMax) lost_at_.erase(lost_at_.begin());
  Lost& lost = lost_at_[Place{work.call.kind, work.call.step, work.call.shard}];
  (stuck ? lost.hung : lost.late).insert(who);
}

}  // namespace muster
