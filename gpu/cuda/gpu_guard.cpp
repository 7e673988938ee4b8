#include "gpu/gpu_guard.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "gpu/cuda/failure.hpp"

namespace muster::cuda {
namespace {

using PrimaryContextState = CUresult(CUDAAPI*)(CUdevice gpu, unsigned* flags, int* active);

// The runtime cannot say it. The driver can, which is not linked: it is not there on machines without a GPU.
PrimaryContextState primary_context_state() noexcept {
  constexpr const char* kName = "cuDevicePrimaryCtxGetState";
  void* function = nullptr;
#if CUDART_VERSION >= 12050
  constexpr unsigned kSince = 7000;  // CUDA 7.0
  const cudaError_t code = cudaGetDriverEntryPointByVersion(kName, &function, kSince, cudaEnableDefault);
#else
  const cudaError_t code = cudaGetDriverEntryPoint(kName, &function, cudaEnableDefault);
#endif
  if (code == cudaSuccess) return reinterpret_cast<PrimaryContextState>(function);
  static_cast<void>(cudaGetLastError());
  return nullptr;
}

bool has_context(int gpu) noexcept {
  static const PrimaryContextState state_of = primary_context_state();
  unsigned flags = 0;
  int active = 0;
  return state_of != nullptr && state_of(gpu, &flags, &active) == CUDA_SUCCESS && active != 0;
}

}  // namespace

void go_back_to(int gpu) noexcept {
  if (has_context(gpu)) static_cast<void>(cudaSetDevice(gpu));
}

int gpu_of_thread() noexcept {
  int gpu = -1;
  if (cudaGetDevice(&gpu) == cudaSuccess) return gpu;
  static_cast<void>(cudaGetLastError());
  return -1;
}

// Before CUDA 12 the GPU alone made no context.
void use(int gpu) {
  const std::string name = "cuda:" + std::to_string(gpu);
  must(cudaSetDevice(gpu), name, "cudaSetDevice");
  must(cudaFree(nullptr), name, "cudaFree");
}

GpuGuard::GpuGuard(int number, const std::string& gpu) {
  must(cudaGetDevice(&before_), gpu, "cudaGetDevice");
  if (before_ == number) return;
  must(cudaSetDevice(number), gpu, "cudaSetDevice");
  changed_ = true;
}

}  // namespace muster::cuda
