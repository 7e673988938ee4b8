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

std::vector<int> peers_of(int card, int cards) {
  std::vector<int> peers;
  for (int other = 0; other < cards; ++other) {
    int can = 0;
    if (other != card && cudaDeviceCanAccessPeer(&can, card, other) == cudaSuccess && can != 0)
      peers.push_back(other);
  }
  return peers;
}

CudaCard describe(int number, int cards) {
  CudaCard card;
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, number) != cudaSuccess) {
    card.name = "unknown card";
    return card;
  }
  card.name = properties.name;
  card.compute_capability = std::to_string(properties.major) + "." + std::to_string(properties.minor);
  card.memory_bytes = properties.totalGlobalMem;
  card.multiprocessors = properties.multiProcessorCount;
  char bus[32] = {};
  if (cudaDeviceGetPCIBusId(bus, sizeof bus, number) == cudaSuccess) card.bus = bus;
  card.peers = peers_of(number, cards);
  return card;
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
  for (int card = 0; code == cudaSuccess && card < count; ++card)
    cards.cards.push_back(describe(card, count));
  return cards;
}

bool is_memory_of_a_card(const void* memory) {
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
