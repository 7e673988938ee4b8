#include "muster/actors/rules/hangs.hpp"

namespace muster {

namespace {

std::string text_of(const ThreadCall& call) {
  const std::string shard = "shard " + std::to_string(call.shard);
  return call.kind == ThreadCall::Kind::reads
             ? "has read data of " + shard
             : "has computed " + shard + " of step " + std::to_string(call.step);
}

}  // namespace

std::string Work::text() const {
  const std::string lasts = " for " + std::to_string(stands_for().count()) + " ms";
  if (call.kind != ThreadCall::Kind::none) return text_of(call) + lasts;
  const std::string at = " step " + std::to_string(step) + lasts;
  switch (activity) {
    case Activity::loading:
      return "has waited for data of" + at;
    case Activity::computing:
      return "has not begun to compute" + at;
    case Activity::updating:
      return "has applied, copied or hashed weights at" + at;
    default:
      return "has done nothing at" + at;
  }
}

Work work_of(const Heartbeat& message) {
  const bool known = message.activity < kActivities;
  const bool known_call = message.call <= static_cast<std::uint32_t>(ThreadCall::Kind::reads);
  return {known ? static_cast<Activity>(message.activity) : Activity::idle,
          {known_call ? static_cast<ThreadCall::Kind>(message.call) : ThreadCall::Kind::none,
           message.call_shard, message.call_step},
          message.step + 1,
          std::chrono::milliseconds(message.doing_ms),
          std::chrono::milliseconds(message.call_ms)};
}

std::string Hangs::twice(const NodeName& who, const Work& work) const {
  if (work.call.kind != ThreadCall::Kind::computes) return {};
  const auto before = hung_at_.find({work.call.step, work.call.shard});
  if (before == hung_at_.end() || before->second == who) return {};
  return "two replicas have hung at shard " + std::to_string(work.call.shard) + " of step " +
         std::to_string(work.call.step) + ", " + before->second.text() + " and then " + who.text() +
         ": the model's code does not return there";
}

void Hangs::note(const NodeName& who, const Work& work) {
  if (work.call.kind != ThreadCall::Kind::computes) return;
  if (hung_at_.size() >= kPlacesMax) hung_at_.erase(hung_at_.begin());
  hung_at_.emplace(std::pair{work.call.step, work.call.shard}, who);
}

}  // namespace muster
