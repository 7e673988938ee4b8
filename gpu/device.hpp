// What this process can compute on, and the binding of threads to cores.
#pragma once

#include <sys/types.h>
#include <cstdint>
#include <string>
#include <vector>

namespace muster {

/// A GPU as the CUDA runtime describes it.
struct CudaGpu {
  std::string name;
  std::string compute_capability;  ///< "9.0", say
  std::uint64_t memory_bytes = 0;  ///< all of it, whoever uses it
  int multiprocessors = 0;
  std::string bus;         ///< PCI address, "0000:17:00.0" say
  std::vector<int> peers;  ///< other GPUs whose memory it can reach directly, ascending
};

struct DeviceInventory {
  std::vector<int> cores;          ///< logical cores this process may use, ascending; "cpu:K" is cores[K]
  int cuda_devices = 0;            ///< GPUs that models of this build can compute on
  std::string cuda_reason;         ///< why cuda_devices is 0; empty when it is not
  std::vector<CudaGpu> cuda_gpus;  ///< those that are there, usable or not; "cuda:K" is cuda_gpus[K]
};

/// Looks at the calling thread's affinity mask and, in builds with CUDA, at the GPUs that are visible. Call
/// it before any thread is pinned. Blocks for up to seconds on the first look at a GPU. Throws Error
/// when the mask cannot be read.
DeviceInventory discover_devices();

/// The logical cores that the calling thread may use, ascending. Throws Error when they cannot be
/// read.
std::vector<int> allowed_cores();

/// Binds a thread of this user's, 0: the calling one, to these logical cores, values out of
/// DeviceInventory::cores (not indices). One that has ended is nobody's concern. Throws Error with
/// the system's words when none of the cores is there and allowed.
void stay_on(const std::vector<int>& cores, pid_t thread = 0);

/// Whether this is memory of a GPU, and not of the host. Any thread; false in builds without CUDA.
bool is_gpu_memory(const void* memory);

/// The processor's name as the system gives it, for people: "AMD EPYC 9575F", say.
std::string processor_name();

/// Version of the CUDA runtime in this build, "12.4" say; empty when the build has none.
std::string cuda_version();

/// The latest CUDA version that the driver on this machine supports, "12.4" say; empty without a driver, and
/// in builds without CUDA.
std::string cuda_driver_version();

}  // namespace muster
