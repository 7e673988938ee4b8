// New states of shards on their way to their second holders (shard_copies.hpp).
#include <algorithm>

#include "base/canary.hpp"
#include "base/check.hpp"
#include "transport/collective/reduction/reduction.hpp"

namespace muster {

std::size_t Reduction::copy_pieces() const {
  return (shape_.copy_elements + CarriedBody::kElementsMax - 1) / CarriedBody::kElementsMax;
}

std::size_t Reduction::piece_of(const CarriedBody& carried) const {
  return carried.shard * copy_pieces() + carried.piece();
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
    for (std::size_t begin = 0; begin < state.size() && !failed_; begin += CarriedBody::kElementsMax) {
      const auto piece = state.subspan(begin, std::min(CarriedBody::kElementsMax, state.size() - begin));
      send(self.buddy, frame_with(CarriedBody{shard, begin}), std::as_bytes(piece), current);
    }
  }
}

std::span<std::byte> Reduction::place_copy(Slot& current, const Frame& frame) {
  const ReductionMember& from = shape_.members[frame.from];
  const auto body = CarriedBody::from(frame);
  if (!backs_up(frame.from) || body.shard < from.begin || body.shard >= from.end) return {};
  if (!body.invalid().empty() || body.first_element >= shape_.copy_elements) return {};
  const std::size_t count = std::min(CarriedBody::kElementsMax, shape_.copy_elements - body.first_element);
  if (frame.bytes != count * sizeof(float) || current.copied[piece_of(body)]) return {};
  return std::as_writable_bytes(shape_.copies->copy(body.shard).subspan(body.first_element, count));
}

void Reduction::copy_arrived(Slot& current, const Frame& frame) {
  const auto body = CarriedBody::from(frame);
  if (current.copied[piece_of(body)]) return;
  current.copied[piece_of(body)] = true;
  const auto first = current.copied.begin() + static_cast<std::ptrdiff_t>(body.shard * copy_pieces());
  const auto end = first + static_cast<std::ptrdiff_t>(copy_pieces());
  if (std::find(first, end, false) != end) return;
  shape_.copies->kept(body.shard, current.headers[shape_.self]->step);
  send(frame.from, frame_with(KeptShardBody{body.shard}), {}, current);
}

// The buddy's answer. False if this member has given it no such state.
bool Reduction::copy_kept(Slot& current, const Frame& frame) {
  const ReductionMember& self = shape_.members[shape_.self];
  const std::uint32_t shard = KeptShardBody::from(frame).shard;
  const bool may = frame.from == self.buddy && current.copies_given && shard >= self.begin &&
                   shard < self.end && present_[shard];
  if (may) current.kept[shard] = true;
  return may;
}

void Reduction::abandoned(const Frame& frame) {
  if (frame.kind == FrameKind::carried && shape_.copies)
    shape_.copies->abandoned(CarriedBody::from(frame).shard);
}

}  // namespace muster
