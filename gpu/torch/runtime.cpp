#include "gpu/torch/runtime.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <malloc.h>

#include <cstdlib>
#include <sstream>

#include "gpu/torch/compat.hpp"

namespace muster {
namespace {

// A function of a library that may be there or not.
template <class Function>
Function* find_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// OpenBLAS has threads of its own that libtorch does not know of. Found only where it is the BLAS of this
// process.
void set_blas_threads(int threads) {
  static const auto set = find_function<void(int)>("openblas_set_num_threads");
  static Mutex mutex;
  static int current MUSTER_GUARDED_BY(mutex) = 0;
  if (set == nullptr) return;
  const MutexLock lock(mutex);
  if (current != threads) set(threads);
  current = threads;
}

// "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH Haswell MAX_THREADS=64" is what it says of itself.
std::string blas_library() {
  const auto config = find_function<const char*()>("openblas_get_config");
  const auto core = find_function<const char*()>("openblas_get_corename");
  if (config == nullptr || core == nullptr) return {};
  std::istringstream words(config());
  std::string name, version;
  words >> name >> version;
  return ", " + name + " " + version + " (" + core() + ")";
}

std::string dnn_library() {
  const auto isa = find_function<int()>("dnnl_get_effective_cpu_isa");
  const auto text = find_function<const char*(int)>("dnnl_cpu_isa2str");
  if (isa == nullptr || text == nullptr) return {};
  std::string name = text(isa());
  if (name.rfind("cpu_isa_", 0) == 0) name.erase(0, 8);
  return ", oneDNN (" + name + ")";
}

// What the environment tells these libraries of the kernels that they may choose. Those in PyTorch's wheels
// do not say themselves what they have chosen.
std::string told_to_choose() {
  std::string text;
  for (const char* name : {"OPENBLAS_CORETYPE", "MKL_CBWR", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"}) {
    if (const char* value = std::getenv(name)) text += std::string(", ") + name + "=" + value;
  }
  return text;
}

Mutex& generator_mutex() {
  static Mutex mutex;
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

void prepare_torch_gpus() {
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

std::string torch_libraries(bool on_gpu) {
  const std::string torch = "libtorch " TORCH_VERSION;
  if (on_gpu) return torch;
  return torch + " (" + compat::cpu_capability() + ")" + blas_library() + dnn_library() + told_to_choose();
}

SeededGenerator::SeededGenerator(std::uint64_t seed, int gpu) : lock_(generator_mutex()) {
  set_seed(at::detail::getDefaultCPUGenerator(), seed);
  if (gpu >= 0)
    set_seed(at::globalContext().defaultGenerator({at::kCUDA, static_cast<c10::DeviceIndex>(gpu)}), seed);
}

}  // namespace muster
