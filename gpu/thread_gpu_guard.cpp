#include "gpu/thread_gpu_guard.hpp"

#ifdef MUSTER_WITH_CUDA
#include "gpu/gpu_guard.hpp"
#endif

namespace muster {

#ifdef MUSTER_WITH_CUDA

void use_gpu(int gpu) {
  if (gpu >= 0) cuda::use(gpu);
}

ThreadGpuGuard::ThreadGpuGuard(int gpu) {
  if (gpu < 0) return;
  before_ = cuda::gpu_of_thread();
  cuda::use(gpu);
}

ThreadGpuGuard::~ThreadGpuGuard() {
  if (before_ >= 0) cuda::go_back_to(before_);
}

#else

void use_gpu(int) {}
ThreadGpuGuard::ThreadGpuGuard(int) {}
ThreadGpuGuard::~ThreadGpuGuard() = default;

#endif

}  // namespace muster
