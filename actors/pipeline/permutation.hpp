// The order of an epoch: a seeded permutation of [0, n) in O(1) memory.
#pragma once

#include <array>
#include <cstdint>

namespace muster {

/// A bijection of [0, n), keyed by (seed, epoch); a pure value, safe to use from any thread.
///
/// An alternating Feistel network over the least power of two not below n, and cycle walking back into [0,
/// n): less than two walks on average, whatever n. Sources: Luby and Rackoff 1988 (Feistel), Black and
/// Rogaway 2002 (cycle walking), Schneier and Kelsey 1996 (unequal halves). A shuffle, not a cipher. The
/// order is part of the mathematics of a job; a test pins it.
class Permutation {
 public:
  static constexpr int kRounds = 12;
  static constexpr std::uint64_t kSizeMax = std::uint64_t{1} << 62;

  /// n may be 0 (then nothing may be asked) up to kSizeMax.
  Permutation(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch);

  std::uint64_t size() const { return size_; }

  /// Where position p < size() of the epoch points: an index < size().
  std::uint64_t at(std::uint64_t position) const;

 private:
  std::uint64_t forward(std::uint64_t value) const;

  std::uint64_t size_;
  int right_bits_;
  std::uint64_t left_mask_;
  std::uint64_t right_mask_;
  std::array<std::uint64_t, kRounds> keys_;
};

}  // namespace muster
