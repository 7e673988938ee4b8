#include "transport/collective/reduction/copy_exchange.hpp"

#include <algorithm>
#include <utility>

#include "base/canary.hpp"
#include "base/check.hpp"

namespace muster {

CopyExchange::CopyExchange(const ReductionShape& shape) : shape_(shape) {
  reset();
}

void CopyExchange::reset() {
  given_ = false;
  gave_.assign(shape_.copies ? shape_.shards : 0, false);
  kept_.assign(shape_.copies ? shape_.shards : 0, false);
  copied_.assign(shape_.copies ? shape_.shards * pieces() : 0, false);
}

// Of one state.
std::size_t CopyExchange::pieces() const {
  return (shape_.copy_elements + CarriedBody::kElementsMax - 1) / CarriedBody::kElementsMax;
}

std::size_t CopyExchange::index_of(const CarriedBody& carried) const {
  return carried.shard * pieces() + carried.piece();
}

void CopyExchange::give(bool made, const std::vector<bool>& present, const Send& send) {
  if (std::exchange(given_, true) || !shape_.copies || !made) return;
  if (self().buddy == shape_.self || canary("no-state-copy")) return;
  for (std::uint32_t shard = self().begin; shard < self().end; ++shard) {
    if (!present[shard]) continue;
    const std::span<const float> state = shape_.copies->made(shard);
    MUSTER_CHECK(state.size() == shape_.copy_elements, shard, state.size());
    gave_[shard] = true;
    for (std::size_t begin = 0; begin < state.size(); begin += CarriedBody::kElementsMax) {
      const auto piece = state.subspan(begin, std::min(CarriedBody::kElementsMax, state.size() - begin));
      if (!send(self().buddy, frame_with(CarriedBody{shard, begin}), std::as_bytes(piece))) return;
    }
  }
}

bool CopyExchange::all_kept() const {
  return gave_ == kept_;
}

std::span<std::byte> CopyExchange::place(const Frame& frame) {
  const ReductionMember& from = shape_.members[frame.from];
  const auto body = CarriedBody::from(frame);
  if (!shape_.copies || frame.from == shape_.self || from.buddy != shape_.self) return {};
  if (!body.invalid().empty() || body.shard < from.begin || body.shard >= from.end) return {};
  if (body.first_element >= shape_.copy_elements) return {};
  const std::size_t count = std::min(CarriedBody::kElementsMax, shape_.copy_elements - body.first_element);
  if (frame.bytes != count * sizeof(float) || copied_[index_of(body)]) return {};
  return std::as_writable_bytes(shape_.copies->copy(body.shard).subspan(body.first_element, count));
}

std::optional<std::uint32_t> CopyExchange::arrived(const Frame& frame, std::uint64_t step) {
  const auto body = CarriedBody::from(frame);
  if (copied_[index_of(body)]) return std::nullopt;
  copied_[index_of(body)] = true;
  const auto first = copied_.begin() + static_cast<std::ptrdiff_t>(body.shard * pieces());
  const auto end = first + static_cast<std::ptrdiff_t>(pieces());
  if (std::find(first, end, false) != end) return std::nullopt;
  shape_.copies->kept(body.shard, step);
  return body.shard;
}

bool CopyExchange::kept(const Frame& frame) {
  const std::uint32_t shard = KeptShardBody::from(frame).shard;
  if (frame.from != self().buddy || shard >= gave_.size() || !gave_[shard]) return false;
  kept_[shard] = true;
  return true;
}

}  // namespace muster
