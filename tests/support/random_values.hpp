// Random numbers whose sums depend on their order, so that a wrong order shows in the bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace muster::oracle {

class RandomValues {
 public:
  explicit RandomValues(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  bool chance(std::uint64_t in_hundred) { return below(100) < in_hundred; }

  /// Of very different sizes; some are 0 and some -0.
  float value() {
    if (chance(5)) return chance(50) ? 0.0f : -0.0f;
    const auto mantissa = static_cast<float>(below(1u << 24)) - 8388608.0f;
    return std::ldexp(mantissa, static_cast<int>(below(40)) - 40);
  }
  std::vector<float> values(std::size_t count) {
    std::vector<float> all(count);
    for (float& one : all) one = value();
    return all;
  }

  /// The same in stretches of any density: much of it is +0, some stretches have nothing else, or none of it.
  std::vector<float> sparse_values(std::size_t count) {
    constexpr std::uint64_t kInHundred[] = {0, 1, 10, 50, 100};
    std::vector<float> all(count, 0.0f);
    for (std::size_t begin = 0; begin < count;) {
      const std::size_t end = std::min(count, begin + 1 + below(count));
      const std::uint64_t density = kInHundred[below(5)];
      for (; begin < end; ++begin) {
        if (chance(density)) all[begin] = value();
      }
    }
    return all;
  }

  /// `parts` sizes, each at least 1, that add up to `whole`.
  std::vector<std::uint32_t> split(std::uint32_t whole, std::uint32_t parts) {
    std::vector<std::uint32_t> sizes(parts, 1);
    for (std::uint32_t rest = whole - parts; rest > 0; --rest) ++sizes[below(parts)];
    return sizes;
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace muster::oracle
