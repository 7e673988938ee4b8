// How much memory some work takes while it runs, beyond what was taken before: found by running it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "gpu/compute_device.hpp"

namespace muster {

struct MeasuredMemory {
  bool known = false;
  std::uint64_t bytes = 0;  ///< at most, at one time; 0 if not known
  std::string how;          ///< it was measured; or why it was not
};

/// Runs `work` once, on the calling thread, and waits for it. On the host: how far the resident memory of
/// this process grows, to about 1 MiB; other threads must rest meanwhile. On a GPU: what libtorch's
/// allocator takes of it; arrays of ComputeDevice do not count. Throws what `work` throws.
MeasuredMemory measure_memory(ComputeDevice& device, const std::function<void()>& work);

}  // namespace muster
