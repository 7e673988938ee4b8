// How many of a thing, for people.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

/// "1 replica", "2 replicas".
inline std::string count_of(std::uint64_t count, const std::string& thing) {
  return std::to_string(count) + ' ' + thing + (count == 1 ? "" : "s");
}

}  // namespace muster
