#include "gpu/optimizer/compression.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

namespace muster {

namespace {

// Floats without their sign compare as these integers do; NaN is above infinity.
constexpr std::uint32_t kMagnitude = 0x7fffffff;
constexpr std::size_t kBlock = 16;           // elements that are looked at together
constexpr std::size_t kChunk = 64 * kBlock;  // what is read and written of so many stays in the first cache

// Of so many blocks one is sampled, of few elements one of less; odd, for the rows of a layer are often even.
constexpr std::size_t kApart = 61;
constexpr std::size_t kSampledOfFew = 64;  // blocks

// The selection counts the upper bits of the magnitudes first, then the middle ones, then the lower ones.
constexpr unsigned kDigits[] = {11, 10, 10};
constexpr std::size_t kBins = std::size_t{1} << kDigits[0];

std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

std::uint32_t magnitude_of(float value) {
  return bits_of(value) & kMagnitude;
}

// The value goes to `kept` if its magnitude is at least `bound`, else to `rest`; the other one becomes +0.
// Says which, all ones or 0. The comparison is signed, as all vector units can compare.
inline std::uint32_t put(float value, std::uint32_t bound, float& kept, float& rest) {
  const std::uint32_t bits = bits_of(value);
  const bool below = static_cast<std::int32_t>(bits & kMagnitude) < static_cast<std::int32_t>(bound);
  const std::uint32_t mask = below ? 0 : ~0u;
  kept = std::bit_cast<float>(bits & mask);
  rest = std::bit_cast<float>(bits & ~mask);
  return mask;
}

// As TopK::split(), of few; whether any reaches the bound.
inline bool split_block(std::size_t count, std::uint32_t bound, float* __restrict gradient,
                        const float* __restrict left_out, float* __restrict leaves_out) {
  std::uint32_t any = 0;
  for (std::size_t i = 0; i < count; ++i)
    any |= put(gradient[i] + left_out[i], bound, gradient[i], leaves_out[i]);
  return any != 0;
}

void split_sums(std::size_t count, std::uint32_t bound, float* __restrict sums,
                float* __restrict leaves_out) {
  for (std::size_t i = 0; i < count; ++i) put(sums[i], bound, sums[i], leaves_out[i]);
}

// Gives back what is kept and has just this magnitude; says whether it has.
bool take_back(std::uint32_t magnitude, float& kept, float& rest) {
  if (magnitude_of(kept) != magnitude) return false;
  rest = std::exchange(kept, 0.0f);
  return true;
}

// The fair share and eight deviations of a fair sample more: in practice the guess is then never too high.
// None if that is so much of the sample that to look at all elements costs no more.
std::size_t wanted_of_sample(std::size_t sampled, double ratio) {
  const double fair = static_cast<double>(sampled) * ratio;
  const auto wanted = static_cast<std::size_t>(std::ceil(fair + 8 * std::sqrt(fair) + 1));
  return wanted > sampled / 2 ? 0 : wanted;
}

}  // namespace

TopK::TopK(std::size_t elements, double ratio)
    : elements_(elements),
      kept_(
          std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(ratio * static_cast<double>(elements))),
                                  std::min<std::size_t>(1, elements), elements)),
      counts_(kBins) {
  const std::size_t blocks = elements / kBlock;
  apart_ = std::clamp<std::size_t>(blocks / kSampledOfFew, 1, kApart) | 1;
  const std::size_t sampled = (blocks + apart_ - 1) / apart_ * kBlock;
  wanted_ = wanted_of_sample(sampled, ratio);
  if (wanted_ == 0) return;
  const std::size_t expected = elements / sampled * wanted_;
  candidates_.resize(std::max(sampled, 2 * expected + 2 * kChunk));
  places_.resize(candidates_.size());
}

// A radix selection, a digit at a time: the magnitude of the last one of the `wanted` largest.
TopK::Last TopK::last_of(std::span<const float> values, std::size_t wanted) {
  Last last;
  unsigned shift = 31;
  for (const unsigned digits : kDigits) {
    shift -= digits;
    count_digit(values, last.magnitude, shift, 1u << digits);
    std::uint32_t digit = (1u << digits) - 1;
    for (; counts_[digit] < wanted; --digit) wanted -= counts_[digit];
    last.magnitude = last.magnitude << digits | digit;
    last.surplus = counts_[digit] - wanted;
  }
  return last;
}

// Of the magnitudes that begin with `prefix`, how often each digit is the next one.
void TopK::count_digit(std::span<const float> values, std::uint32_t prefix, unsigned shift,
                       std::uint32_t bins) {
  std::fill(counts_.begin(), counts_.end(), 0);
  const std::uint32_t first = prefix * bins;
  for (const float value : values) {
    const std::uint32_t digit = (magnitude_of(value) >> shift) - first;
    if (digit < bins) ++counts_[digit];
  }
}

// A magnitude that somewhat more than `kept()` elements reach, as far as a sample tells; 0 if it tells
// nothing.
std::uint32_t TopK::guess(std::span<const float> gradient, std::span<const float> left_out) {
  if (wanted_ == 0) return 0;
  std::size_t count = 0;
  for (std::size_t first = 0; first + kBlock <= elements_; first += apart_ * kBlock)
    for (std::size_t i = first; i < first + kBlock; ++i) candidates_[count++] = gradient[i] + left_out[i];
  return last_of(std::span(candidates_).first(count), wanted_).magnitude;
}

// Without a branch: each element is written down, and the next one over it unless it is a candidate.
void TopK::collect(std::uint32_t bound, std::span<const float> values, std::size_t first) {
  std::size_t found = found_;
  for (std::size_t i = 0; i < values.size(); ++i) {
    candidates_[found] = values[i];
    places_[found] = first + i;
    found += magnitude_of(values[i]) >= bound;
  }
  found_ = found;
}

// The sums, those that reach the bound in `gradient`, where they are candidates, and the others in
// `leaves_out`. Returns how many elements it has done: all, unless there are too many candidates.
std::size_t TopK::split(std::uint32_t bound, std::span<float> gradient, std::span<const float> left_out,
                        std::span<float> leaves_out) {
  found_ = 0;
  std::array<std::size_t, kChunk / kBlock> reached;
  for (std::size_t chunk = 0; chunk < elements_; chunk += kChunk) {
    if (found_ + kChunk > candidates_.size()) return chunk;
    const std::size_t end = std::min(elements_, chunk + kChunk);
    std::size_t blocks = 0;
    for (std::size_t first = chunk; first < end; first += kBlock) {
      reached[blocks] = first;
      blocks += split_block(std::min(kBlock, end - first), bound, &gradient[first], &left_out[first],
                            &leaves_out[first]);
    }
    for (std::size_t i = 0; i < blocks; ++i)
      collect(bound, gradient.subspan(reached[i], std::min(kBlock, end - reached[i])), reached[i]);
  }
  return elements_;
}

// After a split() that found at least as many candidates as are kept.
void TopK::keep_of_candidates(std::span<float> gradient, std::span<float> leaves_out) {
  Last last = last_of(std::span(candidates_).first(found_), kept_);
  for (std::size_t i = 0; i < found_; ++i)
    put(candidates_[i], last.magnitude, gradient[places_[i]], leaves_out[places_[i]]);
  for (std::size_t i = found_ - 1; last.surplus > 0; --i)
    last.surplus -= take_back(last.magnitude, gradient[places_[i]], leaves_out[places_[i]]);
}

// With the sums in `gradient`.
void TopK::keep_of_all(std::span<float> gradient, std::span<float> leaves_out) {
  Last last = last_of(gradient, kept_);
  split_sums(elements_, last.magnitude, gradient.data(), leaves_out.data());
  for (std::size_t i = elements_ - 1; last.surplus > 0; --i)
    last.surplus -= take_back(last.magnitude, gradient[i], leaves_out[i]);
}

void TopK::compress(std::span<float> gradient, std::span<const float> left_out, std::span<float> leaves_out) {
  if (elements_ == 0) return;
  const std::uint32_t bound = guess(gradient, left_out);
  const std::size_t done = bound == 0 ? 0 : split(bound, gradient, left_out, leaves_out);
  if (done == elements_ && found_ >= kept_) return keep_of_candidates(gradient, leaves_out);
  // The guess was too high, or too low, or there is none.
  for (std::size_t i = 0; i < done; ++i)  // one of the two is +0
    gradient[i] = std::bit_cast<float>(bits_of(gradient[i]) | bits_of(leaves_out[i]));
  for (std::size_t i = done; i < elements_; ++i) gradient[i] += left_out[i];
  keep_of_all(gradient, leaves_out);
}

}  // namespace muster
