// Recursive halving and doubling along the canonical tree: neighbors exchange halves of the vector, then
// neighboring pairs exchange quarters, and so on; the result comes back the other way. log2 of the members
// as many hops and messages (where the members are a power of two): for small vectors on many members.
// (Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", 2005.)
#include <bit>

#include "transport/collective/algorithms/algorithm.hpp"

namespace muster {
namespace {

// The sums of members [begin, end) come together at `root`, one of them.
void join(std::uint32_t begin, std::uint32_t end, std::uint32_t root, Parents& parents) {
  const std::uint32_t count = end - begin;
  if (count == 1) return;
  const std::uint32_t middle = begin + std::bit_ceil(count) / 2;
  const bool left = root < middle;
  // In the other half whoever has the same place in it, as far as there is one.
  const std::uint32_t other = left ? middle + (root - begin) % (end - middle) : begin + (root - middle);
  join(begin, middle, left ? root : other, parents);
  join(middle, end, left ? other : root, parents);
  parents[other] = root;
}

}  // namespace

Parents halving_doubling_tree(std::uint32_t members, std::uint32_t owner) {
  Parents parents(members);
  parents[owner] = owner;
  join(0, members, owner, parents);
  return parents;
}

}  // namespace muster
