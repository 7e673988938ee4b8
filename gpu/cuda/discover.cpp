#include "muster/gpu/cuda/discover.hpp"

#include <cuda_runtime_api.h>

namespace muster {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// The runtime reports a missing driver library and one that is too old with the same code.
std::string driver_reason() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return "no CUDA driver";
  return "the CUDA driver (" + version_text(driver) + ") is older than this build's runtime (" +
         cuda_runtime_version() + ")";
}

}  // namespace

CudaCards discover_cuda() {
  CudaCards cards;
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaErrorInsufficientDriver) {
    cards.reason = driver_reason();
  } else if (code == cudaErrorNoDevice || (code == cudaSuccess && count == 0)) {
    cards.reason = "no CUDA device";
  } else if (code != cudaSuccess) {
    cards.reason = std::string("CUDA: ") + cudaGetErrorString(code);
  }
  for (int card = 0; code == cudaSuccess && card < count; ++card) {
    cudaDeviceProp properties{};
    const bool known = cudaGetDeviceProperties(&properties, card) == cudaSuccess;
    cards.names.emplace_back(known ? properties.name : "unknown card");
  }
  return cards;
}

std::string cuda_runtime_version() {
  int version = 0;
  cudaRuntimeGetVersion(&version);
  return version_text(version);
}

}  // namespace muster
