#include "gpu/device.hpp"

#include <sched.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>

#include "muster/error.hpp"
#ifdef MUSTER_WITH_CUDA
#include "gpu/cuda_discover.hpp"
#endif

namespace muster {
namespace {

constexpr int kCoresMax = 1 << 16;

/// An affinity mask that also fits machines with more cores than cpu_set_t holds.
class CoreMask {
 public:
  CoreMask() : mask_(CPU_ALLOC(kCoresMax)) {
    if (mask_ == nullptr) throw std::bad_alloc();
    CPU_ZERO_S(bytes(), mask_.get());
  }
  explicit CoreMask(const std::vector<int>& cores) : CoreMask() {
    for (const int core : cores)
      if (core >= 0 && core < kCoresMax) CPU_SET_S(static_cast<std::size_t>(core), bytes(), mask_.get());
  }
  static std::size_t bytes() { return CPU_ALLOC_SIZE(kCoresMax); }
  cpu_set_t* get() const { return mask_.get(); }
  int count() const { return CPU_COUNT_S(bytes(), mask_.get()); }
  bool has(int core) const { return CPU_ISSET_S(static_cast<std::size_t>(core), bytes(), mask_.get()); }

 private:
  struct Free {
    void operator()(cpu_set_t* mask) const { CPU_FREE(mask); }
  };
  std::unique_ptr<cpu_set_t, Free> mask_;
};

}  // namespace

std::vector<int> allowed_cores() {
  CoreMask mask;
  if (sched_getaffinity(0, CoreMask::bytes(), mask.get()) != 0)
    throw Error(std::string("cannot read the cores of this process: ") + std::strerror(errno));
  std::vector<int> cores;
  const int count = mask.count();
  for (int core = 0; core < kCoresMax && static_cast<int>(cores.size()) < count; ++core)
    if (mask.has(core)) cores.push_back(core);
  return cores;
}

namespace {

std::string read_processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const auto colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "a processor without a name";  // other than x86
}

}  // namespace

std::string processor_name() {
  static const std::string name = read_processor_name();
  return name;
}

DeviceInventory discover_devices() {
  DeviceInventory inventory;
  inventory.cores = allowed_cores();
#ifdef MUSTER_WITH_CUDA
  CudaGpus found = discover_cuda();
  inventory.cuda_gpus = std::move(found.gpus);
  inventory.cuda_reason = found.reason;
#ifdef MUSTER_WITH_TORCH_CUDA
  inventory.cuda_devices = static_cast<int>(inventory.cuda_gpus.size());
#else
  if (!inventory.cuda_gpus.empty()) inventory.cuda_reason = "this build's libtorch computes on the CPU only";
#endif
#else
  inventory.cuda_reason = "this build has no CUDA";
#endif
  return inventory;
}

void stay_on(const std::vector<int>& cores, pid_t thread) {
  const CoreMask mask(cores);
  if (sched_setaffinity(thread, CoreMask::bytes(), mask.get()) == 0 || (thread != 0 && errno == ESRCH))
    return;
  const int code = errno;
  std::string names;
  for (const int core : cores) names += (names.empty() ? "" : ", ") + std::to_string(core);
  throw Error("cannot keep a thread on core " + names + ": " + std::strerror(code));
}

bool is_gpu_memory([[maybe_unused]] const void* memory) {
#ifdef MUSTER_WITH_CUDA
  return is_memory_of_a_gpu(memory);
#else
  return false;
#endif
}

std::string cuda_driver_version() {
#ifdef MUSTER_WITH_CUDA
  return cuda_driver_supports();
#else
  return {};
#endif
}

std::string cuda_version() {
#ifdef MUSTER_WITH_CUDA
  return cuda_runtime_version();
#else
  return {};
#endif
}

}  // namespace muster
