#include "gpu/optimizer/block_hash.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace muster {

namespace {

constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ull;
constexpr std::size_t kLanes = 4;  // independent of each other, so that multiplications overlap
constexpr std::size_t kWordFloats = 2;

// For any word a bijection of the hash, and for any hash one of the word: what differs stays different.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  return std::rotl((hash ^ word) * kOdd, 29);
}

}  // namespace

std::uint64_t block_hash(std::span<const float> values) {
  std::array<std::uint64_t, kLanes> lanes{1, 2, 3, 4};
  std::size_t at = 0;
  for (; at + kLanes * kWordFloats <= values.size(); at += kLanes * kWordFloats) {
    std::array<std::uint64_t, kLanes> words;
    std::memcpy(words.data(), values.data() + at, sizeof words);
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = mixed(lanes[lane], words[lane]);
  }
  for (; at < values.size(); ++at) lanes[0] = mixed(lanes[0], std::bit_cast<std::uint32_t>(values[at]));
  std::uint64_t hash = mixed(kOdd, values.size());
  for (const std::uint64_t lane : lanes) hash = mixed(hash, lane);
  return hash ^ hash >> 32;
}

}  // namespace muster
