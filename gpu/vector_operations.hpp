// Arithmetic on vectors in the memory of one device: loops of the host's processor, or kernels of a CUDA GPU.
// Both give the same bits (see elements.hpp).
//
// Each operation is work of the device: compute_device.hpp says when it is done, and how long its operands
// must live. `out` may be an operand, and must not overlap one otherwise. Vectors of one operation that
// differ in size are a bug of the caller, which ends the program. Calls come from the thread that calls the
// device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "gpu/elements.hpp"

namespace muster {

/// Where squared_norm writes: how many doubles it needs for so many elements. The first is the result.
std::size_t norm_space(std::size_t count);

class VectorOperations {
 public:
  virtual ~VectorOperations() = default;

  // --- sums ---

  /// out = (left + right), scaled. Also state += change.
  virtual void add(std::span<const float> left, std::span<const float> right, elements::Scale by,
                   std::span<float> out) = 0;
  virtual void scale(std::span<const float> values, elements::Scale by, std::span<float> out) = 0;
  /// out = values * *factor, where `factor` is memory of the device.
  virtual void scale_by(std::span<const float> values, const float* factor, std::span<float> out) = 0;

  // --- updates: of the optimizers in optimizer.hpp; foretell_ changes the parameters only ---

  virtual void sgd(elements::From<elements::SgdFactors> factors, std::span<float> parameters,
                   std::span<const float> gradient) = 0;
  virtual void sgd_momentum(elements::From<elements::SgdFactors> factors, bool nesterov,
                            std::span<float> parameters, std::span<const float> gradient,
                            std::span<float> momentum) = 0;
  virtual void foretell_sgd_momentum(elements::From<elements::SgdFactors> factors, bool nesterov,
                                     std::span<float> parameters, std::span<const float> gradient,
                                     std::span<const float> momentum) = 0;
  virtual void adam(elements::From<elements::AdamFactors> factors, std::span<float> parameters,
                    std::span<const float> gradient, std::span<float> average, std::span<float> square) = 0;
  virtual void foretell_adam(elements::From<elements::AdamFactors> factors, std::span<float> parameters,
                             std::span<const float> gradient, std::span<const float> average,
                             std::span<const float> square) = 0;

  // --- looks across elements; the results are memory of the device, so nobody has to wait ---

  /// The sum of squares in double, in an order that depends on the size alone: see norm.hpp. `space` has
  /// norm_space(values.size()) elements; the result is the first.
  virtual void squared_norm(std::span<const float> values, std::span<double> space) = 0;
  /// *factor = what the gradient of this squared norm is multiplied with to have a norm of at most norm_max.
  virtual void clip_factor(const double* squared_norm, float norm_max, float* factor) = 0;
  /// *first = index of the first element that is NaN or Inf, or kNone.
  virtual void find_not_finite(std::span<const float> values, std::uint64_t* first) = 0;
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
};

/// Ends the program with both sizes if they differ.
void check_same_size(std::size_t one, std::size_t other);

/// On memory of the host. Each operation is done when its call returns.
std::unique_ptr<VectorOperations> make_host_vectors();

}  // namespace muster
