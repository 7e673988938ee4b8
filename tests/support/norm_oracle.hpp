// Norm and clipping as gpu/norm.hpp and gpu/optimizer/clipping.hpp describe them, in plain loops; shares no
// code with them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace muster::oracle {

inline double squared_norm(std::span<const float> values) {
  std::vector<double> terms(values.begin(), values.end());
  for (double& term : terms) term *= term;
  do {
    std::vector<double> sums;
    for (std::size_t begin = 0; begin < terms.size(); begin += 4096) {
      std::array<double, 128> lanes{};
      for (std::size_t i = begin; i < std::min(begin + 4096, terms.size()); ++i) lanes[i % 128] += terms[i];
      for (std::size_t half = 64; half > 0; half /= 2)
        for (std::size_t l = 0; l < half; ++l) lanes[l] = lanes[l] + lanes[l + half];
      sums.push_back(lanes[0]);
    }
    terms = sums;
  } while (terms.size() > 1);
  return terms.empty() ? 0 : terms[0];
}

inline void clip(std::span<float> gradient, double norm_max) {
  const double factor = static_cast<float>(norm_max) / (std::sqrt(squared_norm(gradient)) + 1e-6);
  if (factor >= 1) return;
  for (float& grad : gradient) grad = grad * static_cast<float>(factor);
}

}  // namespace muster::oracle
