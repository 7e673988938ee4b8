#include "transport/collective/sums/sparse.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

// Highway compiles what stands between BEFORE and AFTER once for each kind of processor.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transport/collective/sums/sparse.cpp"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace muster::sparse::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class U>
HWY_INLINE auto zeros(U u, const float* values) {
  return hn::Eq(hn::BitCast(u, hn::LoadU(hn::RebindToFloat<U>(), values)), hn::Zero(u));
}

std::size_t CountZeros(const float* values, std::size_t count) {
  const hn::ScalableTag<std::uint32_t> lanes;
  const std::size_t step = hn::Lanes(lanes);
  auto found = hn::Zero(lanes), found_too = found;
  std::size_t i = 0;
  for (; i + 2 * step <= count; i += 2 * step) {
    found = hn::Sub(found, hn::VecFromMask(lanes, zeros(lanes, values + i)));
    found_too = hn::Sub(found_too, hn::VecFromMask(lanes, zeros(lanes, values + i + step)));
  }
  std::size_t all = hn::GetLane(hn::SumOfLanes(lanes, hn::Add(found, found_too)));
  const hn::CappedTag<std::uint32_t, 1> one;
  for (; i < count; ++i) all += hn::CountTrue(one, zeros(one, values + i));
  return all;
}

// Of 64 elements, a bit for each that is not +0.
HWY_INLINE std::uint64_t others_in_64(const float* values) {
  const hn::CappedTag<std::uint32_t, 8> lanes;  // a byte of bits at a time
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 64; i += hn::Lanes(lanes)) {
    std::uint8_t part = 0;
    hn::StoreMaskBits(lanes, zeros(lanes, values + i), &part);
    bits |= std::uint64_t{part} << i;
  }
  return ~bits;
}

// Writes where the elements are that are not +0; returns the end of what is written.
std::byte* WritePositions(const float* values, std::size_t count, std::byte* out) {
  const auto write = [&out](std::size_t position) {
    const auto narrow = static_cast<std::uint16_t>(position);
    std::memcpy(out, &narrow, sizeof narrow);
    out += sizeof narrow;
  };
  std::size_t i = 0;
  for (; i + 64 <= count; i += 64) {
    for (std::uint64_t left = others_in_64(values + i); left != 0; left &= left - 1)
      write(i + static_cast<std::size_t>(std::countr_zero(left)));
  }
  for (; i < count; ++i) {
    if (std::bit_cast<std::uint32_t>(values[i]) != 0) write(i);
  }
  return out;
}

}  // namespace muster::sparse::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace muster {
namespace sparse {

HWY_EXPORT(CountZeros);
HWY_EXPORT(WritePositions);

constexpr std::size_t kSparseBlock = 65536;
constexpr std::size_t kCountBytes = sizeof(std::uint32_t);
constexpr std::size_t kPositionBytes = sizeof(std::uint16_t);
constexpr std::size_t kTile = 256;  // values that are packed at a time

// Some of the positions of a block. A copy: the compiler then knows that nothing else writes them.
struct Places {
  Places(const std::byte* positions, std::size_t first, std::size_t count) {
    std::memcpy(at, positions + first * kPositionBytes, count * kPositionBytes);
  }
  std::uint16_t at[kTile];
};

std::byte* write_values(const float* values, std::size_t count, const Wire& wire, std::byte* out) {
  if (!wire.rounds()) {
    std::memcpy(out, values, count * sizeof(float));
  } else {
    std::uint16_t halves[kTile];
    pack(wire, values, count, halves);
    std::memcpy(out, halves, count * sizeof *halves);
  }
  return out + count * wire.bytes();
}

void read_values(const std::byte* bytes, std::size_t count, const Wire& wire, float* out) {
  if (!wire.rounds()) {
    std::memcpy(out, bytes, count * sizeof(float));
  } else {
    std::uint16_t halves[kTile];
    std::memcpy(halves, bytes, count * sizeof *halves);
    unpack(wire, halves, count, out);
  }
}

std::byte* pack_block(const float* values, std::size_t count, const Wire& wire, std::byte* out) {
  std::byte* const positions = out + kCountBytes;
  std::byte* at = HWY_DYNAMIC_DISPATCH(WritePositions)(values, count, positions);
  const auto others = static_cast<std::uint32_t>(static_cast<std::size_t>(at - positions) / kPositionBytes);
  std::memcpy(out, &others, sizeof others);
  float tile[kTile];
  for (std::size_t first = 0; first < others; first += kTile) {
    const std::size_t now = std::min<std::size_t>(kTile, others - first);
    const Places places(positions, first, now);
    for (std::size_t i = 0; i < now; ++i) tile[i] = values[places.at[i]];
    at = write_values(tile, now, wire, at);
  }
  return at;
}

bool ascend(const std::byte* positions, std::size_t count, std::size_t end) {
  std::uint32_t least = 0;  // of the next one
  bool wrong = false;
  for (std::size_t first = 0; first < count; first += kTile) {
    const std::size_t now = std::min(kTile, count - first);
    const Places places(positions, first, now);
    wrong |= places.at[0] < least;
    for (std::size_t i = 1; i < now; ++i) wrong |= places.at[i - 1] >= places.at[i];
    least = places.at[now - 1] + 1u;
  }
  return !wrong && least <= end;
}

// Into elements that are +0. False if a value is one that need not have been sent.
bool scatter(const std::byte* positions, std::size_t others, const Wire& wire, float* out) {
  const std::byte* values = positions + others * kPositionBytes;
  bool good = true;
  float tile[kTile];
  for (std::size_t first = 0; first < others; first += kTile) {
    const std::size_t now = std::min<std::size_t>(kTile, others - first);
    read_values(values + first * wire.bytes(), now, wire, tile);
    const Places places(positions, first, now);
    for (std::size_t i = 0; i < now; ++i) good &= std::bit_cast<std::uint32_t>(tile[i]) != 0;
    for (std::size_t i = 0; i < now; ++i) out[places.at[i]] = tile[i];
  }
  return good;
}

// The bytes of the block, or nothing if it cannot be.
std::optional<std::size_t> unpack_block(std::span<const std::byte> bytes, std::size_t count, const Wire& wire,
                                        float* out) {
  std::uint32_t others;
  if (bytes.size() < kCountBytes) return std::nullopt;
  std::memcpy(&others, bytes.data(), sizeof others);
  const std::size_t whole = kCountBytes + others * (kPositionBytes + wire.bytes());
  if (others > count || bytes.size() < whole) return std::nullopt;
  const std::byte* const positions = bytes.data() + kCountBytes;
  if (!ascend(positions, others, count) || !scatter(positions, others, wire, out)) return std::nullopt;
  return whole;
}

}  // namespace sparse

using namespace sparse;

std::size_t sparse_bytes(const float* values, std::size_t count, const Wire& wire) {
  const std::size_t others = count - HWY_DYNAMIC_DISPATCH(CountZeros)(values, count);
  return (count + kSparseBlock - 1) / kSparseBlock * kCountBytes + others * (kPositionBytes + wire.bytes());
}

std::optional<std::size_t> pack_sparse(const float* values, std::size_t count, const Wire& wire,
                                       std::byte* out, std::size_t capacity) {
  const std::size_t bytes = sparse_bytes(values, count, wire);
  if (bytes >= count * wire.bytes() || bytes > capacity) return std::nullopt;
  for (std::size_t begin = 0; begin < count; begin += kSparseBlock)
    out = pack_block(values + begin, std::min(kSparseBlock, count - begin), wire, out);
  return bytes;
}

bool unpack_sparse(std::span<const std::byte> bytes, std::size_t count, const Wire& wire, float* out) {
  if (bytes.size() >= count * wire.bytes()) return false;
  std::fill_n(out, count, 0.0F);
  for (std::size_t begin = 0; begin < count; begin += kSparseBlock) {
    const auto block = unpack_block(bytes, std::min(kSparseBlock, count - begin), wire, out + begin);
    if (!block) return false;
    bytes = bytes.subspan(*block);
  }
  return bytes.empty();
}

}  // namespace muster
#endif
