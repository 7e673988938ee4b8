// Which GPU the CUDA calls of a thread go to. Libraries that move a GPU's memory look there: UCX does, in
// every call.
#pragma once

namespace muster {

/// From now on that GPU is the calling thread's; it has a context then, which takes up to seconds and some
/// hundred MiB of its memory if it is the process's first one there. Error with CUDA's words if it
/// refuses. Negative, or in builds without CUDA: nothing.
void use_gpu(int gpu);

/// The same until the end of the block. Where the thread had another GPU before, that one is its own again.
class ThreadGpuGuard {
 public:
  explicit ThreadGpuGuard(int gpu);
  ~ThreadGpuGuard();
  ThreadGpuGuard(const ThreadGpuGuard&) = delete;
  ThreadGpuGuard& operator=(const ThreadGpuGuard&) = delete;

 private:
  int before_ = -1;
};

}  // namespace muster
