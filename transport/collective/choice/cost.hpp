// What the sums and the result of one step cost, counted from the trees of an algorithm: what
// docs/internals/collectives.md says in formulas.
#pragma once

#include <cstddef>
#include <vector>

#include "transport/collective/sums/reduction_shape.hpp"

namespace muster {

/// Of all members together, where every shard adds something. Headers of frames and reports of rounds are not
/// counted. Where sums
/// are sparse the bytes are what they take at most: as many as dense ones.
struct ReductionCost {
  std::size_t elements = 0;                ///< that are sent
  std::size_t elements_between_hosts = 0;  ///< of these, to a member on another host
  std::size_t bytes = 0;                   ///< of these elements
  std::size_t bytes_between_hosts = 0;
  std::size_t hops = 0;              ///< of the longest way of an element, sum and result
  std::vector<std::size_t> sent_by;  ///< elements, by member
};

ReductionCost cost_of(const ReductionShape& shape);

}  // namespace muster
