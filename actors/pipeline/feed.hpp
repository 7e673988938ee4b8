// One phase of one source, dealt to shards. Three kinds, one for each kind of source; BatchReader picks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "actors/messages/item.hpp"
#include "actors/pipeline/cut.hpp"
#include "muster/source.hpp"

namespace muster {

/// Used by one thread at a time, like the source, which it does not own.
class Feed {
 public:
  virtual ~Feed() = default;

  /// A function of (shard, cursor) alone: asked again, it gives the same bytes again.
  virtual Item read(std::uint32_t shard, const Cursor& cursor) = 0;

  /// How the epoch is dealt; none where the length is unknown.
  virtual std::optional<Dealing> dealing() const = 0;

  /// The largest micro-batch, in bytes.
  virtual std::uint64_t micro_batch_bytes_max() const = 0;
};

/// `shuffle_seed`: a new permutation for each epoch; none: source order.
std::unique_ptr<Feed> make_indexed_feed(IndexedSource& source, const Cut& cut, const Dealing& dealing,
                                        std::optional<std::uint64_t> shuffle_seed);

/// `dealing` counts batches.
std::unique_ptr<Feed> make_ready_feed(BatchSource& source, const Cut& cut, const Dealing& dealing);

/// Keeps each shard's generator open between steps; opens it anew, and skips forward, where the cursor goes
/// elsewhere.
std::unique_ptr<Feed> make_generator_feed(GeneratorSource& source, std::uint32_t shards, std::uint32_t batch,
                                          Remainder remainder);

}  // namespace muster
