// The canonical sum by its definition (a plain recursion over intervals of leaves), for comparison with what
// the runtime computes. Shares no code with it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

namespace muster::oracle {

/// One leaf or sum; none: absent.
using Values = std::optional<std::vector<float>>;

/// The numbers that a wire carries: `digits` binary digits, the least power of two above 0 that has all of
/// them, the greatest number. No digits: all floats.
struct Numbers {
  int digits = 0;
  int least = 0;
  double greatest = 0;
  int exponent = 0;  ///< rounded after a product with 2 to this power
};
inline constexpr Numbers kAllFloats{};
inline constexpr Numbers kHalfs{11, -14, 65504.0, 0};
inline constexpr Numbers kBrains{8, -126, 0x1.fep127, 0};

/// The nearest of them, of two the even one, by way of whole numbers.
inline float rounded(float value, const Numbers& numbers) {
  if (numbers.digits == 0 || value == 0 || !std::isfinite(value)) return value;
  const double scaled = std::ldexp(static_cast<double>(value), numbers.exponent);
  const int last =
      std::max(std::ilogb(scaled), numbers.least) - (numbers.digits - 1);  // the last digit's place
  const double near = std::ldexp(std::nearbyint(std::ldexp(scaled, -last)), last);
  const double kept = std::abs(near) > numbers.greatest ? std::copysign(HUGE_VAL, near) : near;
  return static_cast<float>(std::ldexp(kept, -numbers.exponent));
}

inline void round_all(Values& values, const Numbers& numbers) {
  for (std::size_t i = 0; values && i < values->size(); ++i) (*values)[i] = rounded((*values)[i], numbers);
}

/// The sum of leaves [begin, begin + width), a power of two; those beyond the vector are absent.
inline Values sum_below(const std::vector<Values>& leaves, std::size_t begin, std::size_t width,
                        const Numbers& numbers = kAllFloats) {
  Values left = width > 1 ? sum_below(leaves, begin, width / 2, numbers)
                          : (begin < leaves.size() ? leaves[begin] : std::nullopt);
  const Values right = width > 1 ? sum_below(leaves, begin + width / 2, width / 2, numbers) : std::nullopt;
  if (!left) return right;
  for (std::size_t i = 0; right && i < left->size(); ++i) (*left)[i] = (*left)[i] + (*right)[i];
  round_all(left, numbers);
  return left;
}

inline Values root_sum(const std::vector<Values>& leaves, const Numbers& numbers = kAllFloats) {
  std::size_t width = 1;
  while (width < leaves.size()) width *= 2;
  return sum_below(leaves, 0, width, numbers);
}

/// The root, divided once.
inline Values mean(const std::vector<Values>& leaves, float divisor, const Numbers& numbers = kAllFloats) {
  Values root = root_sum(leaves, numbers);
  if (!root) return root;
  for (float& value : *root) value = value / divisor;
  round_all(root, numbers);
  return root;
}

/// Bits, not values: -0 is not 0 here.
inline bool same_bits(const float* a, const float* b, std::size_t count) {
  return count == 0 || std::memcmp(a, b, count * sizeof(float)) == 0;
}

}  // namespace muster::oracle
