// Memory of the host that is pinned for a while, although it was not made to be.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "gpu/compute_device.hpp"

namespace muster {

/// Tries, and unpins at its end, before which the memory must not go. Keeps its device alive. Any thread.
class PinnedRange {
 public:
  PinnedRange() = default;
  PinnedRange(std::shared_ptr<ComputeDevice> device, std::span<float> host) {
    refused_ = device->pin(host.data(), host.size_bytes());
    if (refused_.empty()) memory_ = {host.data(), Unpin{std::move(device)}};
  }

  explicit operator bool() const { return memory_ != nullptr; }
  /// Why it is not pinned.
  const std::string& refused() const { return refused_; }

 private:
  struct Unpin {
    std::shared_ptr<ComputeDevice> device;
    void operator()(float* host) const { device->unpin(host); }
  };
  std::unique_ptr<float, Unpin> memory_;
  std::string refused_;
};

}  // namespace muster
