// The canonical sum by its definition (a plain recursion over intervals of leaves), for comparison with what
// the runtime computes. Shares no code with it.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

namespace muster::oracle {

/// One leaf or sum; none: absent.
using Values = std::optional<std::vector<float>>;

/// The sum of leaves [begin, begin + width), a power of two; those beyond the vector are absent.
inline Values sum_below(const std::vector<Values>& leaves, std::size_t begin, std::size_t width) {
  if (width == 1) return begin < leaves.size() ? leaves[begin] : std::nullopt;
  Values left = sum_below(leaves, begin, width / 2);
  const Values right = sum_below(leaves, begin + width / 2, width / 2);
  if (!left) return right;
  if (!right) return left;
  for (std::size_t i = 0; i < left->size(); ++i) (*left)[i] = (*left)[i] + (*right)[i];
  return left;
}

inline Values root_sum(const std::vector<Values>& leaves) {
  std::size_t width = 1;
  while (width < leaves.size()) width *= 2;
  return sum_below(leaves, 0, width);
}

/// The root, divided once.
inline Values mean(const std::vector<Values>& leaves, float divisor) {
  Values root = root_sum(leaves);
  if (!root) return root;
  for (float& value : *root) value = value / divisor;
  return root;
}

/// Bits, not values: -0 is not 0 here.
inline bool same_bits(const float* a, const float* b, std::size_t count) {
  return count == 0 || std::memcmp(a, b, count * sizeof(float)) == 0;
}

}  // namespace muster::oracle
