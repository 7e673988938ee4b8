// What the oracle makes of a wire's description.
#pragma once

#include "tests/support/tree_oracle.hpp"
#include "transport/collective/sums/wire.hpp"

namespace muster::oracle {

inline Numbers numbers_of(const Wire& wire) {
  if (wire.type == WireType::float32) return kAllFloats;
  Numbers numbers = wire.type == WireType::float16 ? kHalfs : kBrains;
  numbers.exponent = wire.exponent;
  return numbers;
}

}  // namespace muster::oracle
