// Where the sums of a replica's steps come, and their mean: a vector on the host that others may write to,
// and, on a GPU, one that lies there. For one thread at a time: the compute thread in a step; the replica
// between two steps and between two views, while the compute thread has nothing to do with it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "gpu/compute_device.hpp"
#include "gpu/pinned_range.hpp"
#include "transport/borrowable.hpp"

namespace muster {

/// Where the mean gradient of a step is: on the host; on the GPU, in the vector that sums come to there
/// (View::sums_on_gpus); or there in the accumulator (sums_stay), and not divided yet.
enum class MeanIs { in_gradient, in_mean, in_sums };

class GradientMemory {
 public:
  GradientMemory() = default;
  /// `reduced`: elements that come from the reduction; `elements`: of the state.
  GradientMemory(std::shared_ptr<ComputeDevice> device, std::size_t reduced, std::size_t elements);

  /// A view begins. `on_gpus`: its sums come to the vector on the GPU.
  void enter_view(bool on_gpus) { on_gpus_ = on_gpus; }
  bool sums_on_gpus() const { return on_gpus_; }

  /// On the host: the reduced mean of the step; with a sharded optimizer the state after it. The data plane
  /// writes to it in a round, and a replica that is given a record behind it.
  Floats& host() { return host_; }
  const Floats& host() const { return host_; }
  /// On the GPU: where the mean is copied to be applied, or comes by itself.
  DeviceFloats& gpu() { return gpu_; }
  const DeviceFloats& gpu() const { return gpu_; }
  /// Where results of a view come.
  float* result(bool on_gpus) { return on_gpus ? gpu_.data() : host_.data(); }

  /// Another place for results: a transfer that was abandoned may still write to the one before. Throws Error
  /// if the GPU's memory does not suffice.
  void replace(bool on_gpus);
  /// Copies the mean from the GPU to the host, and waits for it.
  void copy_to_host();

  bool is_pinned() const { return static_cast<bool>(pin_); }
  /// Why the system does not let the host's vector be pinned; empty: it does, or the vector is small.
  const std::string& why_not_pinned() const { return pin_.refused(); }

 private:
  void pin();

  std::shared_ptr<ComputeDevice> device_;
  Floats host_;
  PinnedRange pin_;  // of host_, on a GPU: it need not be copied once more
  DeviceFloats gpu_;
  bool on_gpus_ = false;
};

}  // namespace muster
