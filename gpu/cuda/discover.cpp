#include "gpu/cuda_discover.hpp"

#include <cuda_runtime_api.h>

namespace muster {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// The runtime reports a missing driver library and one that is too old with the same code.
std::string driver_reason() {
  const std::string driver = cuda_driver_supports();
  if (driver.empty()) return "no CUDA driver";
  return "the CUDA driver (" + driver + ") is older than this build's runtime (" + cuda_runtime_version() +
         ")";
}

std::vector<int> peers_of(int gpu, int gpus) {
  std::vector<int> peers;
  for (int other = 0; other < gpus; ++other) {
    int can = 0;
    if (other != gpu && cudaDeviceCanAccessPeer(&can, gpu, other) == cudaSuccess && can != 0)
      peers.push_back(other);
  }
  return peers;
}

CudaGpu describe(int number, int gpus) {
  CudaGpu gpu;
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, number) != cudaSuccess) {
    gpu.name = "unknown GPU";
    return gpu;
  }
  gpu.name = properties.name;
  gpu.compute_capability = std::to_string(properties.major) + "." + std::to_string(properties.minor);
  gpu.memory_bytes = properties.totalGlobalMem;
  gpu.multiprocessors = properties.multiProcessorCount;
  char bus[32] = {};
  if (cudaDeviceGetPCIBusId(bus, sizeof bus, number) == cudaSuccess) gpu.bus = bus;
  gpu.peers = peers_of(number, gpus);
  return gpu;
}

}  // namespace

CudaGpus discover_cuda() {
  CudaGpus gpus;
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaErrorInsufficientDriver) {
    gpus.reason = driver_reason();
  } else if (code == cudaErrorNoDevice || (code == cudaSuccess && count == 0)) {
    gpus.reason = "no CUDA device";
  } else if (code != cudaSuccess) {
    gpus.reason = std::string("CUDA: ") + cudaGetErrorString(code);
  }
  for (int gpu = 0; code == cudaSuccess && gpu < count; ++gpu) gpus.gpus.push_back(describe(gpu, count));
  return gpus;
}

bool is_memory_of_a_gpu(const void* memory) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess) {
    cudaGetLastError();  // it would be found by the next call that looks
    return false;
  }
  return attributes.type == cudaMemoryTypeDevice;
}

std::string cuda_driver_supports() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return {};
  return version_text(driver);
}

std::string cuda_runtime_version() {
  int version = 0;
  cudaRuntimeGetVersion(&version);
  return version_text(version);
}

}  // namespace muster
