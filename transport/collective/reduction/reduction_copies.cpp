// New states of shards on their way to their second holders (shard_copies.hpp).
#include <algorithm>

#include "base/canary.hpp"
#include "base/check.hpp"
#include "transport/collective/reduction/reduction.hpp"

namespace muster {

namespace {
constexpr std::size_t kPieceElements = 256 * 1024;
}

std::size_t Reduction::copy_pieces() const {
  return (shape_.copy_elements + kPieceElements - 1) / kPieceElements;
}

std::size_t Reduction::piece_of(const Frame& frame) const {
  return frame.node * copy_pieces() + frame.offset / kPieceElements;
}

bool Reduction::backs_up(std::uint32_t member) const {
  return shape_.copies && member != shape_.self && shape_.members[member].buddy == shape_.self;
}

// Whether shards have new states after this round. Known when the members agree.
bool Reduction::copies_follow(const Slot& current) const {
  return shape_.copies && current.agreed && current.headers[shape_.self]->kind == RoundKind::train &&
         current.any_present && current.weight != 0;
}

// Whether the buddy holds all that this member made.
bool Reduction::copies_kept(const Slot& current) const {
  const ReductionMember& self = shape_.members[shape_.self];
  if (!copies_follow(current) || self.buddy == shape_.self || canary("no-state-copy")) return true;
  for (std::uint32_t shard = self.begin; shard < self.end; ++shard) {
    if (present_[shard] && !current.kept[shard]) return false;
  }
  return true;
}

// All have opened the round, so the buddy has a place for them.
void Reduction::give_copies(Slot& current) {
  const ReductionMember& self = shape_.members[shape_.self];
  if (std::exchange(current.copies_given, true) || !copies_follow(current)) return;
  if (self.buddy == shape_.self || canary("no-state-copy")) return;
  for (std::uint32_t shard = self.begin; shard < self.end; ++shard) {
    if (!present_[shard]) continue;
    const std::span<const float> state = shape_.copies->made(shard);
    MUSTER_CHECK(state.size() == shape_.copy_elements, shard, state.size());
    for (std::size_t begin = 0; begin < state.size() && !failed_; begin += kPieceElements) {
      Frame frame;
      frame.kind = FrameKind::carried;
      frame.node = shard;
      frame.offset = begin;
      send(self.buddy, frame,
           std::as_bytes(state.subspan(begin, std::min(kPieceElements, state.size() - begin))), current);
    }
  }
}

std::span<std::byte> Reduction::place_copy(Slot& current, const Frame& frame) {
  const ReductionMember& from = shape_.members[frame.from];
  if (!backs_up(frame.from) || frame.node < from.begin || frame.node >= from.end) return {};
  if (frame.offset % kPieceElements != 0 || frame.offset >= shape_.copy_elements) return {};
  const std::size_t count = std::min(kPieceElements, shape_.copy_elements - frame.offset);
  if (frame.bytes != count * sizeof(float) || current.copied[piece_of(frame)]) return {};
  return std::as_writable_bytes(shape_.copies->copy(frame.node).subspan(frame.offset, count));
}

void Reduction::copy_arrived(Slot& current, const Frame& frame) {
  if (current.copied[piece_of(frame)]) return;
  current.copied[piece_of(frame)] = true;
  const auto first = current.copied.begin() + static_cast<std::ptrdiff_t>(frame.node * copy_pieces());
  const auto end = first + static_cast<std::ptrdiff_t>(copy_pieces());
  if (std::find(first, end, false) != end) return;
  shape_.copies->kept(frame.node, current.headers[shape_.self]->step);
  Frame report;
  report.kind = FrameKind::kept;
  report.node = frame.node;
  send(frame.from, report, {}, current);
}

// The buddy's answer. False if this member has given it no such state.
bool Reduction::copy_kept(Slot& current, const Frame& frame) {
  const ReductionMember& self = shape_.members[shape_.self];
  const bool may = frame.from == self.buddy && current.copies_given && frame.node >= self.begin &&
                   frame.node < self.end && present_[frame.node];
  if (may) current.kept[frame.node] = true;
  return may;
}

void Reduction::abandoned(const Frame& frame) {
  if (frame.kind == FrameKind::carried && shape_.copies) shape_.copies->abandoned(frame.node);
}

}  // namespace muster
