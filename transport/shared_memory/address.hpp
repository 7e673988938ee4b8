// Where a process of this host is reached over shared memory.
#pragma once

#include <string>
#include <string_view>

namespace muster::shm {

/// What a node tells others: the host that it is on, and the name of its socket there.
struct LocalAddress {
  std::string host;  ///< the same on any two processes that can reach each other
  std::string name;  ///< unique in the world; of kNameBytes bytes

  bool operator==(const LocalAddress&) const = default;
};

inline constexpr std::size_t kNameBytes = 32;
/// What the name of a listening socket begins with, in the kernel's abstract namespace ("ss -xl" shows it).
inline constexpr std::string_view kSocketPrefix = "muster-";

/// This boot of this machine, and this network namespace: names of sockets are known within it, so that
/// containers and simulated hosts count as hosts of their own.
std::string this_host();

/// A name that nobody has: random.
std::string new_name();

std::string seal_address(const LocalAddress& address);

/// Throws Error if the bytes are no sealed address, or a damaged one.
LocalAddress open_address(std::string_view sealed);

}  // namespace muster::shm
