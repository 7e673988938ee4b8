// Where a torch module computes: on the host, or on one GPU.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/StreamGuard.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "muster/model.hpp"

namespace muster {

/// Used by one thread at a time, but for enter(), which any may call. Errors: libtorch's exceptions.
class TorchBinding {
 public:
  virtual ~TorchBinding() = default;

  /// Of parameters, buffers, states and gradients. Its index is that of the GPU, and -1 for the host.
  virtual at::Device device() const = 0;

  /// Until `guard` goes, what the calling thread computes goes to the GPU's stream.
  virtual void enter(c10::OptionalStreamGuard& guard) const = 0;

  /// Throws where this is not memory of the device.
  virtual void check_memory(const void* data) const = 0;

  /// A batch's inputs as the module is given them. `host` may be changed once it returns.
  virtual at::Tensor inputs(const at::Tensor& host) = 0;

  /// The loss of these logits [labels, outputs], and where asked for its gradient, of the logits' type. A
  /// label below 0 does not count; the others must be below `outputs`. On a GPU this waits for nothing.
  virtual void measure(const at::Tensor& logits, const std::vector<std::int64_t>& labels,
                       at::Tensor* grad) = 0;

  /// What the last measure() found. Waits until the GPU has computed it; not for what was put on the stream
  /// behind it.
  virtual Metrics metrics() = 0;
};

/// Throws Error for a device that is none of "cpu", "cpu:K" and "cuda:K", or that libtorch cannot
/// compute on.
std::unique_ptr<TorchBinding> make_torch_binding(const ModelContext& context);

}  // namespace muster
