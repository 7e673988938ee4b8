// A hash of some elements of a round's result, for its record: replicas that drift apart do so everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/collective/sums/fold_unit.hpp"

namespace muster {

class ResultHash {
 public:
  /// `unit`: in whose memory results lie; null: in that of the host. Outlives this object.
  explicit ResultHash(FoldUnit* unit) : unit_(unit) {}

  /// Goes on with `hash` over pairs of elements that lie far apart.
  std::uint64_t of(std::span<const float> result, std::uint64_t hash);

 private:
  FoldUnit* unit_;
  std::vector<float> pairs_;  // of a result that is not on the host
};

}  // namespace muster
