#include "actors/rules/nodes/work.hpp"

namespace muster {

namespace {

std::string call_text(const ThreadCall& call) {
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

std::string place_of(const ThreadCall& call) {
  return "shard " + std::to_string(call.shard) +
         (call.kind == ThreadCall::Kind::evaluates ? " after step " : " of step ") +
         std::to_string(call.step);
}

std::string Work::text() const {
  const std::string lasts = " for " + std::to_string(stands_for().count()) + " ms";
  if (call.kind != ThreadCall::Kind::none) return call_text(call) + lasts;
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

}  // namespace muster
