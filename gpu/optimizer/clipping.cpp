#include "gpu/optimizer/clipping.hpp"

#include <cmath>
#include <utility>

namespace muster {

Clipping::Clipping(std::shared_ptr<ComputeDevice> device, std::size_t elements, double norm_max)
    : device_(std::move(device)),
      norm_max_(static_cast<float>(norm_max)),
      space_(device_, norm_space(elements)),
      factor_(device_, 1),
      squared_norm_(device_, 1) {}

void Clipping::measure(std::span<const float> gradient) {
  device_->vectors().squared_norm(gradient, space_.span());
  device_->vectors().clip_factor(space_.data(), norm_max_, factor_.data());
  device_->copy_out(space_.span().first(1), squared_norm_.span());
}

void Clipping::clip(std::span<const float> gradient, std::span<float> out) const {
  device_->vectors().scale_by(gradient, factor_.data(), out);
}

double Clipping::norm() const {
  return std::sqrt(squared_norm_.data()[0]);
}

bool Clipping::clips() const {
  return elements::clip_factor(squared_norm_.data()[0], norm_max_) != 1.0F;
}

}  // namespace muster
