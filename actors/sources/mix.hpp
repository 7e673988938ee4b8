// The one integer mixer of the pipeline: what the data order and synthetic data are made from.
#pragma once

#include <cstdint>

namespace muster {

/// A bijection of 64-bit integers in which every input bit changes about half of the output bits.
/// Source: the finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014, with Stafford's "Mix13" constants).
/// Part of the mathematics of a job: another mixer is another data order.
constexpr std::uint64_t mix64(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

/// SplitMix64's increment: the odd integer next to 2^64 divided by the golden ratio.
constexpr std::uint64_t kGoldenGamma = 0x9e3779b97f4a7c15ull;

}  // namespace muster
