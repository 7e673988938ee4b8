#include "muster/gpu/torch/runtime.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <malloc.h>

namespace muster {
namespace {

// OpenBLAS has threads of its own that libtorch does not know of. Found only where it is the BLAS of this
// process.
void set_blas_threads(int threads) {
  using SetThreads = void (*)(int);
  static const auto set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"));
  static std::mutex mutex;
  static int current = 0;
  if (set == nullptr) return;
  const std::lock_guard lock(mutex);
  if (current != threads) set(threads);
  current = threads;
}

std::mutex& generator_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

void prepare_torch_process() {
  static std::once_flag once;
  std::call_once(once, [] {
    at::globalContext().setDeterministicAlgorithms(true, false);
    at::globalContext().setBenchmarkCuDNN(false);
    // Activations of some MiB are freed and asked for again at each step. By default malloc maps and unmaps
    // them, and the kernel clears their pages each time. 32 MiB is the largest threshold that glibc takes.
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 512 << 20);
  });
}

void prepare_torch_thread(int threads) {
  thread_local int current = 0;
  if (current == threads) return;
  at::set_num_threads(threads);
  set_blas_threads(threads);
  current = threads;
}

SeededGenerator::SeededGenerator(std::uint64_t seed) : lock_(generator_mutex()) {
  auto generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard inner(generator.mutex());
  generator.set_current_seed(seed);
}

}  // namespace muster
