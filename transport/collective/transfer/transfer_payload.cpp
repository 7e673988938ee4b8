#include "transport/collective/transfer/transfer_payload.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "transport/collective/rounds/round.hpp"

namespace muster {

void TransferPayload::add(std::vector<std::byte> own) {
  own_.push_back(std::move(own));
  add(std::span<const std::byte>(own_.back()));
}

void TransferPayload::add(std::span<const std::byte> part) {
  if (part.empty()) return;
  parts_.push_back({bytes_, part});
  bytes_ += part.size();
}

void TransferPayload::copy(std::uint64_t offset, std::span<std::byte> to) const {
  MUSTER_CHECK(offset <= bytes_ && to.size() <= bytes_ - offset, offset, to.size(), bytes_);
  if (to.empty()) return;
  auto part = std::prev(std::upper_bound(parts_.begin(), parts_.end(), offset,
                                         [](std::uint64_t at, const Part& one) { return at < one.begin; }));
  for (; !to.empty(); ++part) {
    const auto rest = part->bytes.subspan(offset - part->begin);
    const std::size_t count = std::min(rest.size(), to.size());
    std::memcpy(to.data(), rest.data(), count);
    to = to.subspan(count);
    offset += count;
  }
}

bool fits(const PieceBody& piece, std::size_t piece_bytes) {
  return piece.invalid().empty() && piece.first_byte % piece_bytes == 0 &&
         piece.bytes == std::min<std::uint64_t>(piece_bytes, piece.whole_bytes - piece.first_byte);
}

std::uint32_t piece_check(std::span<const std::byte> piece) {
  const std::uint64_t hash = hash_words(kHashStart, piece);
  return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

}  // namespace muster
