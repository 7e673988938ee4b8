// Where a torch module computes: on the host, or on one card.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/StreamGuard.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "muster/model.hpp"

namespace muster {

/// Used by one thread at a time, but for enter(), which any may call. Errors: libtorch's exceptions.
class TorchSeat {
 public:
  virtual ~TorchSeat() = default;

  /// Of parameters, buffers, states and gradients. Its index is that of the card, and -1 for the host.
  virtual at::Device device() const = 0;

  /// Until `guard` goes, what the calling thread computes goes to the card's stream.
  virtual void enter(c10::OptionalStreamGuard& guard) const = 0;

  /// Throws where this is not memory of the device.
  virtual void check_memory(const void* data) const = 0;

  /// A batch's inputs as the module is given them. `host` may be changed once it returns.
  virtual at::Tensor inputs(const at::Tensor& host) = 0;

  /// The loss of these logits [labels, outputs], and where asked for its slope, of the logits' type. A label
  /// below 0 does not count; the others must be below `outputs`. On a card this waits for nothing.
  virtual void measure(const at::Tensor& logits, const std::vector<std::int64_t>& labels,
                       at::Tensor* slope) = 0;

  /// What the last measure() found. Waits until the card has computed it; not for what was put on the stream
  /// behind it.
  virtual Metrics metrics() = 0;
};

/// Throws Error for a device that is none of "cpu", "cpu:K" and "cuda:K", or that libtorch cannot
/// compute on.
std::unique_ptr<TorchSeat> make_seat(const ModelContext& context);

}  // namespace muster
