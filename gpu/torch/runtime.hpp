// What is set once for libtorch in a process or on a thread. No libtorch in this header.
#pragma once

#include <cstdint>
#include <string>

#include "base/mutex.hpp"

namespace muster {

/// Deterministic algorithms, float32 products in float32 (no TF32), and a malloc that keeps what is freed.
/// Does its work at the first call of the process.
void prepare_torch_process();

/// Before the first work on a GPU: the workspace of cuBLAS (CUBLAS_WORKSPACE_CONFIG, where it is not set)
/// that makes it deterministic. Does its work at the first call of the process; sets an environment variable.
void prepare_torch_gpus();

/// The number of threads that libtorch and its BLAS use for work started by the calling thread.
void prepare_torch_thread(int threads);

/// libtorch and the libraries beneath it, each with the kernels that it has chosen for this processor (other
/// ones give other bits): "libtorch 1.13.1 (AVX2), OpenBLAS 0.3.21 (Haswell), oneDNN (AVX2)", say; of a GPU,
/// libtorch alone.
std::string torch_libraries(bool on_gpu);

/// libtorch's default generator, and that of a GPU where one is given, seeded and held until the guard goes:
/// no other model of this process can draw from them.
class SeededGenerator {
 public:
  explicit SeededGenerator(std::uint64_t seed, int gpu = -1);

 private:
  MutexLock lock_;
};

}  // namespace muster
