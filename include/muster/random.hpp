// Random numbers whose bits do not depend on the standard library: splitmix64 (Steele, Lea and Flood 2014,
// "Fast splittable pseudorandom number generators") with our own mapping to float.
//
//   #include "muster/model.hpp"
//   #include "muster/random.hpp"
//
//   // The same noise wherever a step is computed, and however often.
//   void add_noise(const muster::StepKey& key, std::span<float> values) {
//     muster::SplitMix64 random(muster::mix(key.seed, key.step, key.shard));
//     for (float& value : values) value += 0.1F * random.next_signed_unit();
//   }
#pragma once

#include <cstdint>

namespace muster {

/// A sequence of random numbers that the seed alone decides. One thread; copies go on by themselves.
class SplitMix64 {
 public:
  /// Any seed is good; equal seeds give equal sequences.
  explicit constexpr SplitMix64(std::uint64_t seed) : state_(seed) {}

  /// The next number, uniform over all 64 bits.
  constexpr std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  /// Uniform in [-1, 1): the upper 24 bits, exact in float32.
  constexpr float next_signed_unit() { return static_cast<float>(next() >> 40) * 0x1p-23F - 1.0F; }

 private:
  std::uint64_t state_;
};

/// One well-mixed number from several: each is folded in with one turn of splitmix64. The order of arguments
/// matters.
template <class... Parts>
constexpr std::uint64_t mix(std::uint64_t seed, Parts... parts) {
  std::uint64_t hash = SplitMix64(seed).next();
  ((hash = SplitMix64(hash ^ static_cast<std::uint64_t>(parts)).next()), ...);
  return hash;
}

}  // namespace muster
