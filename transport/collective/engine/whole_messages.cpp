#include "transport/collective/engine/whole_messages.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/quarantine.hpp"

namespace muster {

std::span<std::byte> WholeMessages::place(const Frame& frame) {
  std::vector<std::byte> bytes(frame.bytes);
  const std::byte* const where = bytes.data();
  return (arriving_[where] = Arriving{frame, std::move(bytes)}).bytes;
}

std::optional<std::vector<std::byte>> WholeMessages::take(std::span<const std::byte> payload) {
  const auto held = arriving_.find(payload.data());
  if (payload.empty() || held == arriving_.end()) return std::nullopt;
  std::optional<std::vector<std::byte>> bytes(std::move(held->second.bytes));
  arriving_.erase(held);
  return bytes;
}

void WholeMessages::dropped(const Frame& frame) {
  const auto half = std::find_if(arriving_.begin(), arriving_.end(), [&](const auto& held) {
    return std::memcmp(&held.second.frame, &frame, sizeof frame) == 0;
  });
  if (half != arriving_.end()) arriving_.erase(half);
}

void WholeMessages::abandoned(const Frame& frame) {
  for (auto& [where, arriving] : arriving_) {
    if (std::memcmp(&arriving.frame, &frame, sizeof frame) == 0) quarantine(std::move(arriving.bytes));
  }
}

bool WholeMessages::batch_arrives_from(PeerId peer) const {
  return std::any_of(arriving_.begin(), arriving_.end(), [&](const auto& place) {
    return place.second.frame.from == peer && place.second.frame.kind == FrameKind::batch;
  });
}

}  // namespace muster
