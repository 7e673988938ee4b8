#include "actors/pipeline/permutation.hpp"

#include <bit>

#include "actors/sources/mix.hpp"
#include "base/canary.hpp"
#include "base/check.hpp"

namespace muster {

Permutation::Permutation(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch) : size_(n) {
  MUSTER_CHECK(n <= kSizeMax, "n", n);
  const int bits = n < 2 ? 0 : std::bit_width(n - 1);
  const int left_bits = bits / 2;
  right_bits_ = bits - left_bits;
  left_mask_ = (std::uint64_t{1} << left_bits) - 1;
  right_mask_ = (std::uint64_t{1} << right_bits_) - 1;
  // For one seed the key is a bijection of the epoch: no two epochs share one.
  std::uint64_t state = mix64(mix64(seed + kGoldenGamma) ^ epoch);
  if (canary("other-order") && epoch > 1) ++state;
  for (auto& key : keys_) key = mix64(state += kGoldenGamma);
}

std::uint64_t Permutation::forward(std::uint64_t value) const {
  std::uint64_t left = value >> right_bits_;
  std::uint64_t right = value & right_mask_;
  for (int round = 0; round < kRounds; round += 2) {
    left ^= mix64(right + keys_[round]) & left_mask_;
    right ^= mix64(left + keys_[round + 1]) & right_mask_;
  }
  return (left << right_bits_) | right;
}

// The walk ends: it follows a cycle of the network's permutation, and that cycle holds the starting point,
// which is < size_.
std::uint64_t Permutation::at(std::uint64_t position) const {
  MUSTER_CHECK(position < size_, "position", position, "size", size_);
  std::uint64_t value = forward(position);
  while (value >= size_) value = forward(value);
  return value;
}

}  // namespace muster
