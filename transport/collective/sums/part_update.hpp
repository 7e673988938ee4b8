// What becomes of a mean gradient where the optimizer is sharded (ZeRO stage 1, Rajbhandari et al. 2020): the
// owner of a range updates it, and the result that goes to all is new parameters.
//
// No result leaves its owner before the owner's buddy holds the mean gradient, too. So if anybody has a whole
// result, owner and buddy of each range have what they need to follow with the optimizer's vectors: as long
// as one of the two lives, nothing is lost.
#pragma once

#include <cstdint>

#include "transport/collective/sums/buckets.hpp"

namespace muster {

/// Of one view. Called by the thread that drives the reduction, within a round; the ranges are chunks of what
/// this member owns or backs up.
class PartUpdate {
 public:
  virtual ~PartUpdate() = default;

  /// A round begins in which this step is made.
  virtual void begin(std::uint64_t step) = 0;
  /// Where the mean gradient of these elements belongs. It stays there until the next round begins.
  virtual float* gradient(ElementRange elements) = 0;
  /// It is there.
  virtual void kept(ElementRange elements) = 0;
  /// Writes the new values of these elements, whose gradient is kept.
  virtual void result(ElementRange elements, float* out) = 0;
};

}  // namespace muster
