// How an epoch is dealt to shards and steps: pure arithmetic, known to every node alike.
#pragma once

#include <cstdint>
#include <optional>

#include "muster/job.hpp"

namespace muster {

/// Shard-local indices [first, first + count): what one micro-batch used. Travels with the micro-batch to the
/// ledger.
struct Range {
  std::uint64_t first = 0;
  std::uint32_t count = 0;

  bool operator==(const Range&) const = default;
};

/// Sample number p of an epoch's permutation is sample p div S of shard p mod S; a shard is cut into
/// micro-batches of `batch`. With ready-made batches the same rule deals batches: `samples` counts them and
/// `batch` is 1.
///
/// keep: the last micro-batch of a shard may be short, and shards may end one step apart. pad: the same
/// ranges; the loader pads the rows. drop: only the steps in which every shard has a full micro-batch.
struct Dealing {
  std::uint64_t samples = 0;  ///< in the epoch, after skip and take
  std::uint32_t shards = 1;   ///< S, at least 1
  std::uint32_t batch = 1;    ///< samples of one shard in one step, at least 1
  Remainder remainder = Remainder::keep;

  /// Samples dealt to a shard, those that will be dropped included.
  std::uint64_t shard_size(std::uint32_t shard) const;

  /// Steps in which at least one shard has something.
  std::uint64_t steps_per_epoch() const;

  /// What the shard has at a step of the epoch, counted from 0; nothing: the shard has ended there.
  std::optional<Range> range(std::uint32_t shard, std::uint64_t step) const;

  /// The position in the epoch's permutation of a shard's local index.
  std::uint64_t position(std::uint32_t shard, std::uint64_t local) const { return local * shards + shard; }

  /// Samples that no step of the epoch uses.
  std::uint64_t dropped() const;
};

}  // namespace muster
