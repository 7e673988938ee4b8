#include "actors/node/states/own_activity.hpp"

#include <algorithm>
#include <utility>

#include "actors/rules/nodes/work.hpp"

namespace muster {

namespace {

OwnActivity::Milliseconds whole_milliseconds(OwnActivity::Time::duration time) {
  return std::chrono::duration_cast<OwnActivity::Milliseconds>(time);
}

}  // namespace

void OwnActivity::look(Time now, Milliseconds patience) {
  const Time before = std::exchange(looked_at_, now);
  const auto gap = now - before;
  if (before == Time{} || gap < patience) return;
  for (Time* since : {&status_since_, &call_since_, &plane_told_}) *since = std::min(*since + gap, now);
}

OwnActivity::Milliseconds OwnActivity::doing(const ProgressStatus& status, Time now) {
  if (std::exchange(status_, status) != status) status_since_ = now;
  if (!Work{status.activity, {}, 0, {}, {}}.may_hang()) return Milliseconds(0);
  return whole_milliseconds(now - status_since_);
}

OwnActivity::Milliseconds OwnActivity::in_call(const ThreadCall& call, Time now) {
  if (std::exchange(call_, call) != call) call_since_ = now;
  if (call.kind == ThreadCall::Kind::none) return Milliseconds(0);
  return whole_milliseconds(now - call_since_);
}

std::shared_ptr<std::atomic<bool>> OwnActivity::tell_data_plane(Time now) {
  if (!plane_is_free_->exchange(false)) return nullptr;
  plane_told_ = now;
  return plane_is_free_;
}

OwnActivity::Milliseconds OwnActivity::data_plane_stands(Time now) const {
  return whole_milliseconds(now - plane_told_);
}

}  // namespace muster
