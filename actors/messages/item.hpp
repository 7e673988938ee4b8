// What the loader hands to a shard: one micro-batch with its place in the job, or the news that the shard has
// ended.
#pragma once

#include <cstdint>
#include <memory>

#include "actors/messages/dealing.hpp"
#include "muster/tensors.hpp"

namespace muster {

enum class Mode : std::uint8_t { train = 0, evaluate = 1 };

/// A place in a job. Epochs count from 1; `step` is the step within the epoch's phase, from 0.
struct Cursor {
  Mode mode = Mode::train;
  std::uint64_t epoch = 1;
  std::uint64_t step = 0;

  bool operator==(const Cursor&) const = default;
};

/// One shard's share of one step.
struct Item {
  Cursor cursor;
  std::uint32_t shard = 0;
  bool ended =
      false;  ///< the shard has nothing at this step of this epoch's phase, nor later in it; batch is null
  /// What the batch used, in the ledger's unit. Where a generator's short last batch is dropped, the item
  /// that says `ended` at that step carries the range of what was dropped; else an ended item's count is 0.
  Range range;
  std::shared_ptr<const Batch> batch;  ///< may be released by any thread
};

}  // namespace muster
