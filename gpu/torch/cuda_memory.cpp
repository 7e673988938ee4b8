#include "gpu/torch/cuda_memory.hpp"

#include <c10/cuda/CUDACachingAllocator.h>

#include <algorithm>

namespace muster {

std::uint64_t torch_gpu_peak(int gpu, const std::function<void()>& work) {
  namespace allocator = c10::cuda::CUDACachingAllocator;
  const auto device = static_cast<c10::DeviceIndex>(gpu);
  const auto reserved = [&] { return allocator::getDeviceStats(device).reserved_bytes[0]; };  // of all pools
  allocator::emptyCache();
  allocator::resetPeakStats(device);
  const std::int64_t before = reserved().current;
  work();
  const std::int64_t most = reserved().peak;
  allocator::emptyCache();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(most - before, 0));
}

}  // namespace muster
