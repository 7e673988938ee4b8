// Bounds the norm of a step's gradient. The norm is taken in the order of norm.hpp, in double: the same bits
// on the host and on a GPU, and whoever has computed the gradient. One that is longer than the bound is
// multiplied with bound / (norm + 1e-6), as torch.nn.utils.clip_grad_norm_ has it; one that is not stays as
// it is, to the bit.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "gpu/compute_device.hpp"

namespace muster {

/// Of gradients with so many elements, in memory of one device. Used by the device's thread.
class Clipping {
 public:
  Clipping(std::shared_ptr<ComputeDevice> device, std::size_t elements, double norm_max);

  /// Puts the norm of `gradient` on the device, and what follows from it.
  void measure(std::span<const float> gradient);
  /// Puts out = gradient, or a part of it, clipped as was measured last. May be recorded.
  void clip(std::span<const float> gradient, std::span<float> out) const;

  /// Of what was measured last, before it is clipped; and whether it is longer than the bound, or NaN.
  /// When the device has done the measuring.
  double norm() const;
  bool clips() const;

  /// Memory of the device that it takes.
  static std::size_t bytes(std::size_t elements) {
    return norm_space(elements) * sizeof(double) + sizeof(float);
  }

 private:
  std::shared_ptr<ComputeDevice> device_;
  float norm_max_;
  DeviceArray<double> space_;  // the squared norm comes to the front
  DeviceFloats factor_;
  PinnedArray<double> squared_norm_;
};

}  // namespace muster
