#include "muster/gpu/compression.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace muster {

namespace {

// Floats without their sign compare as these integers do; what is not a number is above infinity.
constexpr std::uint32_t kMagnitude = 0x7fffffff;
constexpr unsigned kLowBits = 16;
constexpr std::size_t kLow = std::size_t{1} << kLowBits;
constexpr std::size_t kHigh = std::size_t{1} << (31 - kLowBits);

std::uint32_t magnitude_of(float value) {
  return std::bit_cast<std::uint32_t>(value) & kMagnitude;
}

// The largest bin such that those above it hold less than `wanted`; `wanted` is then what is left for it.
std::size_t bin_of(std::span<const std::uint32_t> counts, std::size_t& wanted) {
  std::size_t bin = counts.size() - 1;
  while (counts[bin] < wanted) wanted -= counts[bin--];
  return bin;
}

}  // namespace

TopK::TopK(std::size_t elements, double ratio)
    : elements_(elements),
      kept_(
          std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(ratio * static_cast<double>(elements))),
                                  std::min<std::size_t>(1, elements), elements)),
      counts_(std::max(kHigh, kLow)) {}

// A radix selection in two passes: first the upper bits of the magnitude that is the last one kept, then the
// lower ones.
TopK::Threshold TopK::threshold(std::span<const float> values) {
  Threshold result;
  result.equal = kept_;
  std::fill(counts_.begin(), counts_.end(), 0);
  for (const float value : values) ++counts_[magnitude_of(value) >> kLowBits];
  const auto high = static_cast<std::uint32_t>(bin_of(std::span(counts_).first(kHigh), result.equal));
  std::fill(counts_.begin(), counts_.end(), 0);
  for (const float value : values) {
    const std::uint32_t magnitude = magnitude_of(value);
    if (magnitude >> kLowBits == high) ++counts_[magnitude & (kLow - 1)];
  }
  const auto low = static_cast<std::uint32_t>(bin_of(std::span(counts_).first(kLow), result.equal));
  result.magnitude = high << kLowBits | low;
  return result;
}

void TopK::compress(std::span<float> gradient, std::span<const float> left_out, std::span<float> leaves_out) {
  for (std::size_t i = 0; i < elements_; ++i) gradient[i] += left_out[i];
  if (elements_ == 0) return;
  Threshold last = threshold(gradient);
  for (std::size_t i = 0; i < elements_; ++i) {
    const float value = gradient[i];
    const std::uint32_t magnitude = magnitude_of(value);
    bool keeps = magnitude > last.magnitude;
    if (magnitude == last.magnitude && last.equal > 0) {
      keeps = true;
      --last.equal;
    }
    gradient[i] = keeps ? value : 0.0f;
    leaves_out[i] = keeps ? 0.0f : value;
  }
}

}  // namespace muster
