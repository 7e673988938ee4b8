// A snapshot as bytes and back, whole: replicas send it in pieces, and read it where it lies.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "actors/checkpoint/snapshot.hpp"

namespace muster {

inline std::vector<std::byte> encode_snapshot(const Snapshot& snapshot) {
  const auto transfer = snapshot_transfer(std::make_shared<const Snapshot>(snapshot));
  std::vector<std::byte> bytes(transfer->bytes());
  transfer->copy(0, bytes);
  return bytes;
}

/// Nothing if the bytes are damaged, or do not fit the bounds.
inline std::optional<Snapshot> decode_snapshot(std::span<const std::byte> bytes,
                                               const SnapshotBounds& bounds) {
  auto view = view_snapshot(bytes, bounds);
  if (!view) return std::nullopt;
  const auto floats = [](std::span<const std::byte> from) {
    std::vector<float> values(from.size() / sizeof(float));
    std::ranges::copy(from, std::as_writable_bytes(std::span(values)).begin());
    return values;
  };
  Snapshot snapshot{std::move(view->place), floats(view->state), {}};
  for (const auto& slot : view->slots) snapshot.slots.push_back({slot.name, floats(slot.values)});
  return snapshot;
}

}  // namespace muster
