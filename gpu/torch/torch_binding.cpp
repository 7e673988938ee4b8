#include "gpu/torch/torch_binding.hpp"

#include <charconv>
#include <string>
#include <string_view>

#include "gpu/torch/torch_loss.hpp"
#include "muster/error.hpp"
#ifdef MUSTER_WITH_TORCH_CUDA
#include "gpu/torch/cuda_binding.hpp"
#endif

namespace muster {
namespace {

class HostBinding final : public TorchBinding {
 public:
  at::Device device() const override { return at::Device(at::kCPU); }
  void enter(c10::OptionalStreamGuard&) const override {}
  void check_memory(const void*) const override {}
  at::Tensor inputs(const at::Tensor& host) override { return host; }
  void measure(const at::Tensor& logits, const std::vector<std::int64_t>& labels, at::Tensor* grad) override {
    metrics_ = cross_entropy(logits, labels, grad);
  }
  Metrics metrics() override { return metrics_; }

 private:
  Metrics metrics_;
};

[[noreturn]] void refuse(const std::string& device, const std::string& why) {
  throw Error("device " + device + ": " + why);
}

std::unique_ptr<TorchBinding> gpu_binding(const std::string& device, std::string_view number, void* stream) {
  int gpu = -1;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), gpu);
  if (error != std::errc() || end != number.data() + number.size() || gpu < 0)
    refuse(device, "a GPU is named cuda:0, cuda:1 and so on");
#ifdef MUSTER_WITH_TORCH_CUDA
  const int gpus = torch_gpus();
  if (gpu >= gpus) refuse(device, "libtorch sees " + std::to_string(gpus) + " GPUs");
  return make_cuda_binding(gpu, stream);
#else
  static_cast<void>(stream);
  refuse(device, "this build's libtorch computes on the CPU only");
#endif
}

}  // namespace

std::unique_ptr<TorchBinding> make_torch_binding(const ModelContext& context) {
  const std::string& device = context.device;
  if (device == "cpu" || device.starts_with("cpu:")) return std::make_unique<HostBinding>();
  constexpr std::string_view kGpu = "cuda:";
  if (device.starts_with(kGpu))
    return gpu_binding(device, std::string_view(device).substr(kGpu.size()), context.stream);
  refuse(device, "models of libtorch compute on cpu:K and cuda:K");
}

}  // namespace muster
