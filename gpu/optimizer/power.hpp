// Whole powers by squaring: the same bits with every C library, unlike std::pow.
#pragma once

#include <cstdint>

namespace muster {

/// base^exponent in double; at most 64 squarings. power(x, 0) is 1.
constexpr double power(double base, std::uint64_t exponent) {
  double result = 1.0;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result *= base;
    base *= base;
  }
  return result;
}

}  // namespace muster
