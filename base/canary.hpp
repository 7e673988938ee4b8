// Deliberate bugs, for one program that proves that the simulator finds them (tests/simulation/program). In
// the product `canary` is false at compile time, and nothing of them is left.
#pragma once

#include <string_view>

namespace muster {

#ifdef MUSTER_CANARY
/// Whether this bug is switched on. Defined by that program.
bool canary(std::string_view name);
#else
constexpr bool canary(std::string_view) {
  return false;
}
#endif

}  // namespace muster
