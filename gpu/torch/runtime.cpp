#include "muster/gpu/torch/runtime.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <malloc.h>

#include <cstdlib>

#include "muster/gpu/torch/compat.hpp"

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

void set_seed(at::Generator generator, std::uint64_t seed) {
  const std::lock_guard lock(generator.mutex());
  generator.set_current_seed(seed);
}

}  // namespace

void prepare_torch_process() {
  static std::once_flag once;
  std::call_once(once, [] {
    compat::set_deterministic();
    at::Context& context = at::globalContext();
    context.setDeterministicCuDNN(true);
    context.setBenchmarkCuDNN(false);
    context.setAllowTF32CuDNN(false);
    context.setAllowTF32CuBLAS(false);
    // Activations of some MiB are freed and asked for again at each step. By default malloc maps and unmaps
    // them, and the kernel clears their pages each time. 32 MiB is the largest threshold that glibc takes.
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 512 << 20);
  });
}

void prepare_torch_cards() {
  static std::once_flag once;
  std::call_once(once, [] { ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0); });
}

void prepare_torch_thread(int threads) {
  thread_local int current = 0;
  if (current == threads) return;
  at::set_num_threads(threads);
  set_blas_threads(threads);
  current = threads;
}

SeededGenerator::SeededGenerator(std::uint64_t seed, int card) : lock_(generator_mutex()) {
  set_seed(at::detail::getDefaultCPUGenerator(), seed);
  if (card >= 0)
    set_seed(at::globalContext().defaultGenerator({at::kCUDA, static_cast<c10::DeviceIndex>(card)}), seed);
}

}  // namespace muster
