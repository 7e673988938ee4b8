// What libtorch 1.13 and 2.x call by different names.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/Version.h>
#include <ATen/autocast_mode.h>
#include <torch/version.h>

#include <string>
#include <vector>

#define MUSTER_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

namespace muster::compat {

/// The instructions that libtorch's own kernels use on this processor: "AVX2", say.
inline std::string cpu_capability() {
#if MUSTER_TORCH_AT_LEAST(2, 1)
  return at::get_cpu_capability();
#else
  const std::string config = at::show_config();
  const std::string before = "CPU capability usage: ";
  const auto begin = config.find(before);
  if (begin == std::string::npos) return "unknown";
  const auto word = begin + before.size();
  return config.substr(word, config.find('\n', word) - word);
#endif
}

/// Autocast to bfloat16 for what the calling thread computes on such a device.
inline void set_autocast(at::DeviceType device, bool on) {
#if MUSTER_TORCH_AT_LEAST(2, 4)
  at::autocast::set_autocast_dtype(device, at::kBFloat16);
  at::autocast::set_autocast_enabled(device, on);
#else
  if (device == at::kCPU) {
    at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
    at::autocast::set_cpu_enabled(on);
  } else {
    at::autocast::set_autocast_gpu_dtype(at::kBFloat16);
    at::autocast::set_enabled(on);
  }
#endif
}

/// Deterministic algorithms, or an exception where there is none. libtorch 2.x would also fill all fresh
/// memory with NaN, which costs a pass over each activation and changes no result. Of its fused kernels for
/// attention the flash one is left, which can be deterministic.
inline void set_deterministic() {
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(true, false);
#if MUSTER_TORCH_AT_LEAST(2, 4)
  context.setDeterministicFillUninitializedMemory(false);
  context.setSDPUseCuDNN(false);
  context.setSDPUseMemEfficient(false);
#endif
}

/// softmax(q k' / sqrt(width)) v, each token looking back only, in one kernel; undefined where there is none:
/// it takes a GPU, bfloat16 and libtorch 2.x. q, k, v: [rows, heads, tokens, width].
inline at::Tensor fused_attention([[maybe_unused]] const at::Tensor& q, [[maybe_unused]] const at::Tensor& k,
                                  [[maybe_unused]] const at::Tensor& v, [[maybe_unused]] double dropout) {
#if MUSTER_TORCH_AT_LEAST(2, 4)
  if (q.is_cuda() && q.scalar_type() == at::kBFloat16)
    return at::scaled_dot_product_attention(q, k, v, {}, dropout, true);
#endif
  return {};
}

/// The first from the second, each of the first's shape and on its device. On a GPU in few kernels where
/// libtorch has them: for small tensors a kernel takes longer to begin than to run.
inline void copy_all(const std::vector<at::Tensor>& to, const std::vector<at::Tensor>& from) {
#if MUSTER_TORCH_AT_LEAST(2, 4)
  if (!to.empty() && to.front().is_cuda()) return at::_foreach_copy_(to, from);
#endif
  for (std::size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i]);
}

}  // namespace muster::compat
