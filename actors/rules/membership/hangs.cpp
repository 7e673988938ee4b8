#include "actors/rules/membership/hangs.hpp"

namespace muster {

namespace {

std::string place_of(const ThreadCall& call) {
  return "shard " + std::to_string(call.shard) +
         (call.kind == ThreadCall::Kind::evaluates ? " after step " : " of step ") +
         std::to_string(call.step);
}

std::string text_of(const ThreadCall& call) {
  switch (call.kind) {
    case ThreadCall::Kind::reads:
      return "has been reading data of shard " + std::to_string(call.shard);
    case ThreadCall::Kind::evaluates:
      return "has been evaluating " + place_of(call);
    default:
      return "has been computing " + place_of(call);
  }
}

}  // namespace

std::string Work::text() const {
  const std::string lasts = " for " + std::to_string(stands_for().count()) + " ms";
  if (call.kind != ThreadCall::Kind::none) return text_of(call) + lasts;
  const std::string at = " step " + std::to_string(step) + lasts;
  switch (activity) {
    case Activity::loading:
      return "has been waiting for data of" + at;
    case Activity::computing:
      return "has not begun to compute" + at;
    case Activity::updating:
      return "has been applying, copying or hashing weights at" + at;
    default:
      return "has done nothing at" + at;
  }
}

Work work_of(const Heartbeat& message) {
  const bool known = message.activity < kActivities;
  const bool known_call = message.call <= static_cast<std::uint32_t>(ThreadCall::Kind::evaluates);
  return {known ? static_cast<Activity>(message.activity) : Activity::idle,
          {known_call ? static_cast<ThreadCall::Kind>(message.call) : ThreadCall::Kind::none,
           message.call_shard, message.call_step},
          message.step + 1,
          std::chrono::milliseconds(message.doing_ms),
          std::chrono::milliseconds(message.call_ms)};
}

std::string Hangs::ends_for(const NodeName& who, const Work& work, bool stuck, std::uint32_t replicas) const {
  if (!work.call.is_of_model()) return {};
  const auto found = lost_at_.find(Place{work.call.kind, work.call.step, work.call.shard});
  if (found == lost_at_.end()) return {};
  const auto& [hung, late] = found->second;
  const std::string at = place_of(work.call);
  const auto before = std::ranges::find_if(hung, [&](const NodeName& each) { return each != who; });
  if (stuck && before != hung.end()) {
    return "two replicas have hung at " + at + ", " + before->text() + " and then " + who.text() +
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
