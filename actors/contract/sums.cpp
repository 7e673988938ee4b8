#include "actors/contract/sums.hpp"

#include <algorithm>
#include <cmath>

namespace muster {

namespace {

constexpr double kOfAllTensors = 0.01;

double largest(std::span<const float> values) {
  double most = 0;
  for (const float value : values) most = std::max(most, std::abs(static_cast<double>(value)));
  return most;
}

}  // namespace

bool close(double one, double other, double tolerance) {
  return std::abs(one - other) <= tolerance * std::max(std::abs(one), std::abs(other));
}

bool is_half(std::span<const double> found, std::span<const double> expected) {
  const auto pairs = static_cast<double>(found.size());
  double of_found = 0, of_expected = 0, square = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    of_found += found[i] / pairs;
    of_expected += expected[i] / pairs;
  }
  const double difference = of_found - of_expected;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double beside = found[i] - expected[i] - difference;
    square += beside * beside;
  }
  const double error = std::sqrt(square / (pairs - 1) / pairs);
  const double ratio = of_found / of_expected;
  return std::abs(difference) > 6 * error && ratio > 0.4 && ratio < 0.6;
}

SumComparison compare_sums(const Layout& layout, std::span<const float> found,
                           std::span<const float> expected, std::span<const float> sizes, double tolerance) {
  SumComparison result;
  double product = 0, square = 0, most_beyond = 0;
  const double largest_of_all = largest(sizes);
  for (const LayoutEntry& entry : layout.entries) {
    if (entry.offset + entry.count > found.size()) break;
    const auto of_found = found.subspan(entry.offset, entry.count);
    const auto of_expected = expected.subspan(entry.offset, entry.count);
    const double allowed = tolerance * std::max(largest(sizes.subspan(entry.offset, entry.count)),
                                                kOfAllTensors * largest_of_all);
    for (std::size_t i = 0; i < entry.count; ++i) {
      const double one = of_found[i], other = of_expected[i];
      product += one * other;
      square += other * other;
      const double beyond = std::abs(one - other) - allowed;
      if (beyond <= most_beyond) continue;
      most_beyond = beyond;
      result.worst = entry.offset + i;
    }
  }
  if (square > 0) result.factor = product / square;
  result.looks_like_mean = result.worst != SumComparison::kNone && std::abs(result.factor - 0.5) < 0.05;
  return result;
}

}  // namespace muster
