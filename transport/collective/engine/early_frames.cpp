#include "transport/collective/engine/early_frames.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/quarantine.hpp"

namespace muster {

EarlyFrames::Place EarlyFrames::place(const Frame& frame) {
  if (held_.size() >= kFramesMax || bytes_ + frame.bytes > kBytesMax) {
    if (std::exchange(refused_view_, frame.view) == frame.view) return {};
    return {{},
            "more greetings of view " + std::to_string(frame.view) +
                " came before this node had heard of it than any view has members"};
  }
  bytes_ += frame.bytes;
  return {held_.emplace_back(Held{frame, std::vector<std::byte>(frame.bytes), false}).payload, {}};
}

bool EarlyFrames::arrived(std::span<const std::byte> payload) {
  if (payload.empty()) return false;
  const auto held = std::find_if(held_.begin(), held_.end(),
                                 [&](const Held& each) { return each.payload.data() == payload.data(); });
  if (held == held_.end()) return false;
  held->whole = true;
  return true;
}

bool EarlyFrames::dropped(const Frame& frame) {
  const auto held = std::find_if(held_.begin(), held_.end(), [&](const Held& each) {
    return !each.whole && each.frame.from == frame.from && each.frame.view == frame.view;
  });
  if (held == held_.end()) return false;
  bytes_ -= held->payload.size();
  held_.erase(held);
  return true;
}

void EarlyFrames::abandoned(const Frame& frame) {
  for (Held& held : held_) {
    if (held.whole || std::memcmp(&held.frame, &frame, sizeof frame) != 0) continue;
    std::vector<std::byte> bytes(held.payload.size());
    bytes.swap(held.payload);
    quarantine(std::move(bytes));
  }
}

std::vector<EarlyFrames::Held> EarlyFrames::take(std::uint32_t view) {
  std::vector<Held> taken, left;
  for (Held& held : held_) {
    const bool due = held.whole && held.frame.view <= view;
    if (due) bytes_ -= held.payload.size();
    (due ? taken : left).push_back(std::move(held));
  }
  held_ = std::move(left);
  return taken;
}

}  // namespace muster
