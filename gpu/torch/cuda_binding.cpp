#include "gpu/torch/cuda_binding.hpp"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>

#include "gpu/torch/runtime.hpp"
#include "gpu/torch/torch_loss.hpp"

namespace muster {
namespace {

/// A point in a stream, of the GPU that is current when it is first marked.
class Mark {
 public:
  Mark() = default;
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  ~Mark() {
    if (event_ != nullptr) C10_CUDA_CHECK_WARN(cudaEventDestroy(event_));
  }

  void set(const c10::cuda::CUDAStream& stream) {
    if (event_ == nullptr) C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
    C10_CUDA_CHECK(cudaEventRecord(event_, stream.stream()));
  }

  /// Until the GPU has come to where it was last set; at once if it never was.
  void wait() const {
    if (event_ != nullptr) C10_CUDA_CHECK(cudaEventSynchronize(event_));
  }

 private:
  cudaEvent_t event_ = nullptr;
};

at::Tensor pinned(at::IntArrayRef shape, at::ScalarType type) {
  return at::empty(shape, at::TensorOptions().dtype(type).pinned_memory(true));
}

/// Host tensors on their way to the GPU, through pinned memory in two turns.
class Staging {
 public:
  /// The copy is put on the calling thread's current stream.
  at::Tensor bring(const at::Tensor& host, at::Device device) {
    Turn& turn = turns_[next_];
    next_ = 1 - next_;
    turn.read.wait();  // for the copy before the last one, which has ended long ago
    const bool fits = turn.memory.defined() && turn.memory.scalar_type() == host.scalar_type() &&
                      turn.memory.numel() >= host.numel();
    if (!fits) turn.memory = pinned({host.numel()}, host.scalar_type());
    const at::Tensor place = turn.memory.narrow(0, 0, host.numel()).view(host.sizes());
    place.copy_(host);
    at::Tensor there = at::empty(host.sizes(), host.options().device(device));
    there.copy_(place, true);
    turn.read.set(c10::cuda::getCurrentCUDAStream(device.index()));
    return there;
  }

 private:
  struct Turn {
    at::Tensor memory;
    Mark read;
  };
  std::array<Turn, 2> turns_;
  std::size_t next_ = 0;
};

class CudaBinding final : public TorchBinding {
 public:
  CudaBinding(int gpu, void* stream)
      : device_(at::kCUDA, static_cast<c10::DeviceIndex>(gpu)), stream_(stream_of(device_, stream)) {}

  at::Device device() const override { return device_; }

  void enter(c10::OptionalStreamGuard& guard) const override { guard.reset_stream(stream_.unwrap()); }

  void check_memory(const void* data) const override {
    cudaPointerAttributes found{};
    C10_CUDA_CHECK(cudaPointerGetAttributes(&found, data));
    TORCH_CHECK(found.type == cudaMemoryTypeDevice && found.device == device_.index(),
                "a state or gradient is not in the memory of ", device_, ", where its model computes");
  }

  at::Tensor inputs(const at::Tensor& host) override { return inputs_.bring(host, device_); }

  void measure(const at::Tensor& logits, const std::vector<std::int64_t>& labels, at::Tensor* grad) override {
    const at::NoGradGuard no_grad;
    const at::Tensor host = at::from_blob(const_cast<std::int64_t*>(labels.data()),
                                          {static_cast<std::int64_t>(labels.size())}, at::kLong);
    const bool holes = std::ranges::any_of(labels, [](std::int64_t label) { return label < 0; });
    const at::Tensor sums = cross_entropy_sums(logits, labels_.bring(host, device_), holes, grad);
    if (!metrics_.defined()) metrics_ = pinned({2}, at::kDouble);
    metrics_.copy_(sums, true);
    measured_.set(stream_);
  }

  Metrics metrics() override {
    measured_.wait();
    const double* sums = metrics_.data_ptr<double>();
    return {sums[0], sums[1]};
  }

 private:
  static c10::cuda::CUDAStream stream_of(at::Device device, void* stream) {
    if (stream == nullptr) return c10::cuda::getDefaultCUDAStream(device.index());
    return c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(stream), device.index());
  }

  at::Device device_;
  c10::cuda::CUDAStream stream_;
  Staging inputs_;
  Staging labels_;
  at::Tensor metrics_;  // pinned
  Mark measured_;
};

}  // namespace

int torch_gpus() {
  return c10::cuda::device_count();
}

std::unique_ptr<TorchBinding> make_cuda_binding(int gpu, void* stream) {
  prepare_torch_gpus();
  return std::make_unique<CudaBinding>(gpu, stream);
}

}  // namespace muster
