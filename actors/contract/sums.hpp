// Comparison of two gradients that should be equal but for rounding.
#pragma once

#include <cstddef>
#include <span>

#include "muster/model.hpp"

namespace muster {

struct SumComparison {
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t worst = kNone;     ///< the element that differs most beyond the tolerance
  double factor = 1;             ///< by which `found` is `expected`, by least squares; 1 if both are 0
  bool looks_like_mean = false;  ///< about one half, where it should be 1
};

/// Tensor by tensor: a difference counts beyond `tolerance` times the tensor's largest size, or a 1/100 of
/// that times the largest of all tensors: what is 0 but for rounding has no size of its own. `sizes`: of what
/// was added up to `expected`, which may cancel out. Of the layout's elements those are compared that all
/// spans have.
SumComparison compare_sums(const Layout& layout, std::span<const float> found,
                           std::span<const float> expected, std::span<const float> sizes, double tolerance);

/// Whether two numbers are equal but for this part of the larger one.
bool close(double one, double other, double tolerance);

/// Whether the first numbers are half of the second ones on average, beyond what chance explains: their
/// difference is six times its standard error (Student's t; with 32 independent pairs of equal numbers once
/// in a million), and their ratio is between 0.4 and 0.6. As many in both, at least two.
bool is_half(std::span<const double> found, std::span<const double> expected);

}  // namespace muster
