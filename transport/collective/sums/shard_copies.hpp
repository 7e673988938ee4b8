// The second copies of what belongs to a shard (its state): made anew in a step, by whoever computes the
// shard, and given to that one's buddy before the step can be over.
//
// A member says that its part of a round is done only when its buddy has said that it holds the new states.
// So whoever holds a record knows that each state that belongs to it is in two places.
#pragma once

#include <cstdint>
#include <span>

namespace muster {

/// Of one view. Called by the thread that drives the reduction, within a round.
class ShardCopies {
 public:
  virtual ~ShardCopies() = default;

  /// The new state of an own shard that this member has contributed. Stays unchanged until the round is over.
  virtual std::span<const float> made(std::uint32_t shard) const = 0;
  /// Where the new state of a shard goes that this member backs up.
  virtual std::span<float> copy(std::uint32_t shard) = 0;
  /// It is there, and belongs to this step.
  virtual void kept(std::uint32_t shard, std::uint64_t step) = 0;
  /// A transfer into the copy was given up, and may still write there: that memory must not be used again.
  virtual void abandoned(std::uint32_t shard) = 0;
};

}  // namespace muster
