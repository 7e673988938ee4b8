// The ring: each member speaks with two neighbours only. Sums go round it upwards to the owner, carrying the
// nodes that cannot be added yet; the result goes round it downwards. As many hops as members: for many
// chunks. (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009.)
#include "transport/collective/algorithms/algorithm.hpp"

namespace muster {

Parents ring_tree(std::uint32_t members, std::uint32_t owner) {
  Parents parents(members);
  for (std::uint32_t member = 0; member < members; ++member) parents[member] = (member + 1) % members;
  parents[owner] = owner;
  return parents;
}

}  // namespace muster
