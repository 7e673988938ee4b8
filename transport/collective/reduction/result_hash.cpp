#include "transport/collective/reduction/result_hash.hpp"

#include <algorithm>

#include "transport/collective/rounds/round.hpp"

namespace muster {

namespace {
// So many pairs of elements at most, and each so far from the next one at least: each is a miss of all
// caches.
constexpr std::size_t kPairsMax = 1024;
constexpr std::size_t kStride = 1024;
}  // namespace

std::uint64_t ResultHash::of(std::span<const float> result, std::uint64_t hash) {
  std::size_t stride = std::max(kStride, result.size() / kPairsMax);
  if (unit_ != nullptr) {
    unit_->pairs(result, stride, pairs_);
    result = pairs_;
    stride = 2;
  }
  for (std::size_t i = 0; i + 2 <= result.size(); i += stride)
    hash = hash_words(hash, std::as_bytes(result.subspan(i, 2)));
  return hash;
}

}  // namespace muster
