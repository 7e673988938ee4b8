// How much memory the host still has for this process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace muster {

struct HostMemoryRoom {
  std::uint64_t bytes = 0;  ///< 0: the system does not say
  std::string bound;        ///< the control group whose limit it is; empty: the machine's memory
};

/// What can still be taken before the machine swaps, or before a control group (cgroup v1 or v2) that this
/// process belongs to is at its limit: the least of both, and of all groups above. Files that a group holds
/// in memory and can let go of count as free. `root`: where /proc and the mounts are, for tests.
HostMemoryRoom available_host_memory(const std::filesystem::path& root = "/");

}  // namespace muster
