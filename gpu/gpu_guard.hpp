// Which GPU a thread works on.
#pragma once

#include <string>

namespace muster::cuda {

/// Makes a GPU the calling thread's again, as far as it has a context in this process: to go back to one
/// that has none would make one, which takes some hundred MiB of its memory. Nothing is said of failure.
void go_back_to(int gpu) noexcept;

/// The calling thread's GPU; -1 where CUDA cannot say.
int gpu_of_thread() noexcept;

/// Makes a GPU the calling thread's, with a context. Error if CUDA refuses.
void use(int gpu);

/// The calling thread's GPU, until the end of the block; then it is the one of before again (see
/// go_back_to). libtorch on the same thread may compute on another.
class GpuGuard {
 public:
  /// Error with the GPU's name if CUDA refuses.
  GpuGuard(int number, const std::string& gpu);
  GpuGuard(const GpuGuard&) = delete;
  GpuGuard& operator=(const GpuGuard&) = delete;
  ~GpuGuard() {
    if (changed_) go_back_to(before_);
  }

 private:
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace muster::cuda
