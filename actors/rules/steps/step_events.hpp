// Which shards stand out in a step: `short` and `exhausted` become events where a shard is short or ends
// while others are not. A pure rule over the records of an epoch.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "actors/events/event.hpp"
#include "transport/collective/rounds/round.hpp"

namespace muster {

class StepEvents {
 public:
  /// `full_rows`: rows of a full micro-batch; 0 where the source's batches are ready-made: then the longest
  /// of the epoch.
  explicit StepEvents(std::uint64_t full_rows) : fixed_full_rows_(full_rows) {}

  /// What was seen of the open epoch.
  struct Seen {
    std::uint64_t longest = 0;            ///< rows of a micro-batch
    std::set<std::uint32_t> told_shards;  ///< shards whose end has been said

    bool operator==(const Seen&) const = default;
  };
  const Seen& seen() const { return seen_; }
  void restore(Seen seen) { seen_ = std::move(seen); }

  void begin_epoch();

  /// The events of one training round with at least one present shard.
  std::vector<Event> of(const RoundRecord& record);

 private:
  std::uint64_t fixed_full_rows_;
  Seen seen_;
};

}  // namespace muster
