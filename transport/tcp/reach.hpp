// Which ports answer.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "transport/tcp/address.hpp"

namespace muster::tcp {

/// A port that did not answer.
struct ClosedPort {
  std::size_t which = 0;  ///< of those that were asked for
  std::string where;      ///< "10.77.0.2:7203", "[fe80::1%eth0]:7203"
  std::string why;        ///< for people
};

/// Dials all at once, and lets go of them again. Blocks for `patience` at most; any thread. Throws Error if
/// no descriptor is left.
std::vector<ClosedPort> closed_ports(const std::vector<Address>& ports, std::chrono::milliseconds patience);

}  // namespace muster::tcp
