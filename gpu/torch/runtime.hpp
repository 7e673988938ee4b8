// What is set once for libtorch in a process or on a thread. No libtorch in this header.
#pragma once

#include <cstdint>
#include <mutex>

namespace muster {

/// Deterministic algorithms, and a malloc that keeps what is freed. Does its work at the first call of the
/// process.
void prepare_torch_process();

/// The number of threads that libtorch and its BLAS use for work started by the calling thread.
void prepare_torch_thread(int threads);

/// libtorch's default generator, seeded and held until the guard goes: no other model of this process can
/// draw from it.
class SeededGenerator {
 public:
  explicit SeededGenerator(std::uint64_t seed);

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace muster
