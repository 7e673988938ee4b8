// Mixed precision for one forward pass.
#pragma once

#include "gpu/torch/compat.hpp"

namespace muster {

/// While it is there, the calling thread computes in bfloat16 what libtorch's autocast chooses, if `on`.
/// Casts of weights that it kept are dropped at the end, for the weights change behind its back.
class Autocast {
 public:
  Autocast(at::DeviceType device, bool on) : device_(device), on_(on) {
    if (!on_) return;
    compat::set_autocast(device_, true);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    if (!on_) return;
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    compat::set_autocast(device_, false);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  at::DeviceType device_;
  bool on_;
};

}  // namespace muster
