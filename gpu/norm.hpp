// The order in which a sum over all elements is taken, so that it depends on their number alone: neither on
// how many threads there are, nor on the processor.
//
// The elements lie in blocks of kBlock. Within a block, lane l of kLanes adds its elements l, l + kLanes, ...
// in this order, from 0; then the lanes are added by halves: lane l and lane l + 64, then l + 32, and so on.
// The sums of the blocks are summed in the same way, until one is left. All in double. What is beyond the end
// is not added: the sums are of squares, so a lane without elements adds +0, which changes nothing.
#pragma once

#include <cstddef>

namespace muster::norm {

inline constexpr std::size_t kLanes = 128;
inline constexpr std::size_t kBlock = 32 * kLanes;

constexpr std::size_t blocks(std::size_t count) {
  return (count + kBlock - 1) / kBlock;
}

}  // namespace muster::norm
