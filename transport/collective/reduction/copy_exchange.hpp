// New states of shards on their way to their second holders (shard_copies.hpp), in one round: this member
// gives its own to its buddy, in pieces, and takes those of the members that it backs up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "transport/collective/sums/reduction_shape.hpp"
#include "transport/frames/round_bodies.hpp"

namespace muster {

class CopyExchange {
 public:
  /// Sends a piece to a member. Returns whether the round still goes on.
  using Send = std::function<bool(std::uint32_t member, const Frame&, std::span<const std::byte>)>;

  /// Outlives this object. Where its shards have no states, nothing is given, placed or awaited.
  explicit CopyExchange(const ReductionShape& shape);
  /// For the next round.
  void reset();

  /// Gives the new states of these shards to the buddy, once. All members have opened the round, so the buddy
  /// has a place for them. `made`: whether the round makes new states at all.
  void give(bool made, const std::vector<bool>& present, const Send& send);
  bool given() const { return given_; }
  /// Whether the buddy holds all that this member made, or need not.
  bool all_kept() const;

  // ---- frames of kind `carried` and `kept`; `from` is the sender's place among the members
  /// Nothing if this member does not back up that shard, or has the piece.
  std::span<std::byte> place(const Frame& frame);
  /// A placed piece is here. Returns the shard whose state is then whole; it belongs to this step.
  std::optional<std::uint32_t> arrived(const Frame& frame, std::uint64_t step);
  /// The buddy's answer. False if this member has given it no such state.
  bool kept(const Frame& frame);

 private:
  const ReductionMember& self() const { return shape_.members[shape_.self]; }
  std::size_t pieces() const;
  std::size_t index_of(const CarriedBody& carried) const;

  const ReductionShape& shape_;
  bool given_ = false;
  std::vector<bool> gave_;    // by shard: to the buddy
  std::vector<bool> kept_;    // by shard: the buddy has it
  std::vector<bool> copied_;  // by shard and piece: it is here, if this member backs the shard up
};

}  // namespace muster
