// The micro-batches of one step, or of one step of an evaluation, of the shards that a replica holds: which
// have arrived, and whether all have. Pure. For one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "actors/messages/item.hpp"

namespace muster {

class BatchGathering {
 public:
  /// A view in which the replica holds the shards from `begin` to before `end`.
  void enter(std::uint32_t begin, std::uint32_t end);
  bool holds(std::uint32_t shard) const { return shard >= begin_ && shard - begin_ < items_.size(); }
  /// Nothing of this step has arrived.
  void begin(const Cursor& cursor);
  const Cursor& cursor() const { return cursor_; }
  /// The shard takes no part in the step: it counts as ended.
  void skip(std::uint32_t shard);
  /// The shard's item for this step, once.
  void take(const Item& item);
  bool complete() const { return arrived_ == items_.size(); }
  /// Ascending by shard. Of a shard that has not arrived: what it had in the step before.
  const std::vector<Item>& items() const { return items_; }
  const Item& of(std::uint32_t shard) const { return items_[shard - begin_]; }
  bool all_ended() const;

 private:
  std::uint32_t begin_ = 0;
  std::vector<Item> items_;
  std::size_t arrived_ = 0;
  Cursor cursor_;
};

}  // namespace muster
