// GPUs as compute devices. No CUDA in this header; the function exists only in builds with CUDA.
#pragma once

#include <memory>

#include "gpu/compute_device.hpp"

namespace muster {

/// The GPU of this number, which the CUDA runtime sees. Error with CUDA's words if it refuses.
std::shared_ptr<ComputeDevice> make_cuda_device(int number, const DeviceMemory& memory);

}  // namespace muster
