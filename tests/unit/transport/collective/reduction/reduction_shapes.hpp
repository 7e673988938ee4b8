// Small views for the tests of what a reduction is made of.
#pragma once

#include "transport/collective/sums/reduction_shape.hpp"

namespace muster::testing {

/// Member m has the peer number 10 + m and the shards [m * each, (m + 1) * each).
inline ReductionShape small_view(std::uint32_t members, std::uint32_t each, std::uint32_t self) {
  ReductionShape shape;
  shape.view = 3;
  shape.self = self;
  shape.shards = members * each;
  shape.elements = 64;
  for (std::uint32_t m = 0; m < members; ++m)
    shape.members.push_back({10 + m, 1000 + m, m * each, (m + 1) * each, 0, m});
  return shape;
}

}  // namespace muster::testing
