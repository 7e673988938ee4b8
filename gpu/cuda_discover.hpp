// The GPUs that the CUDA runtime sees. No CUDA in this header; the functions exist only in builds with CUDA.
#pragma once

#include <string>
#include <vector>

#include "gpu/device.hpp"

namespace muster {

struct CudaGpus {
  std::vector<CudaGpu> gpus;
  std::string reason;  ///< why there are none
};

CudaGpus discover_cuda();

/// Whether the host cannot read it. False for memory that CUDA knows nothing of.
bool is_memory_of_a_gpu(const void* memory);

/// "12.4", say; empty without a driver.
std::string cuda_driver_supports();

/// "12.4", say.
std::string cuda_runtime_version();

}  // namespace muster
