#include "gpu/measured_memory.hpp"

#include <malloc.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>

#ifdef MUSTER_WITH_TORCH_CUDA
#include "gpu/models/torch_back_end.hpp"
#endif

namespace muster {
namespace {

// "VmRSS:     1234 kB", say.
std::optional<std::uint64_t> bytes_in(const char* file, const std::string& field) {
  std::ifstream lines(file);
  for (std::string word; lines >> word;) {
    std::uint64_t kibibytes = 0;
    if (word == field && lines >> kibibytes) return kibibytes << 10;
  }
  return std::nullopt;
}

// From here on the most is what is resident now.
bool forget_peak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file.good();
}

// What was freed before would be taken again unseen.
MeasuredMemory measure_host(const std::function<void()>& work) {
  constexpr const char* kStatus = "/proc/self/status";
  ::malloc_trim(0);
  const bool forgotten = forget_peak();
  const auto before = bytes_in(kStatus, "VmRSS:");
  work();
  const auto most = bytes_in(kStatus, "VmHWM:");
  ::malloc_trim(0);
  if (!forgotten || !before || !most) return {false, 0, "the system does not say what is resident"};
  return {true, *most > *before ? *most - *before : 0, "by the growth of resident memory"};
}

MeasuredMemory measure_gpu([[maybe_unused]] ComputeDevice& device, const std::function<void()>& work) {
#ifdef MUSTER_WITH_TORCH_CUDA
  const std::string& name = device.name();
  int gpu = 0;
  std::from_chars(name.data() + name.find(':') + 1, name.data() + name.size(), gpu);
  const std::uint64_t bytes = torch_back_end().gpu_peak(gpu, [&] {
    work();
    device.synchronize();
  });
  return {true, bytes, "by what libtorch's allocator took"};
#else
  work();
  device.synchronize();
  return {false, 0, "this build's libtorch computes on the CPU only"};
#endif
}

}  // namespace

MeasuredMemory measure_memory(ComputeDevice& device, const std::function<void()>& work) {
  return device.is_gpu() ? measure_gpu(device, work) : measure_host(work);
}

}  // namespace muster
