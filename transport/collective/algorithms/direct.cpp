// Reduce-scatter and all-gather without intermediaries: the fewest hops (2), and as many messages as there
// are pairs. For a few members, and for large vectors on one host.
#include "transport/collective/algorithms/algorithm.hpp"

namespace muster {

Parents direct_tree(std::uint32_t members, std::uint32_t owner) {
  return Parents(members, owner);
}

}  // namespace muster
