// The sequence of each shard's micro-batches, as the loader produces it: source, cut, shuffle, dealing,
// batching, padding.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "actors/messages/item.hpp"
#include "actors/pipeline/cut.hpp"
#include "actors/pipeline/feed.hpp"
#include "muster/job.hpp"
#include "muster/source.hpp"

namespace muster {

/// Reads B(s, t) of design's contract: `read` is a function of (job, shard, cursor) alone, and gives the same
/// bytes each time and on every node that reads the same data. The three kinds of source:
///
/// - IndexedSource: cut, shuffled (unless `data.shuffle` is false), dealt. Any cursor costs the same.
/// - BatchSource: skip, take and the ledger count batches. `train.batch` does not apply. `remainder` "drop"
/// keeps the steps in
///   which every shard has a batch, floor(size / S).
/// - GeneratorSource: of unknown length. Reading on is cheap; another place costs opening the shard's
/// generator and skipping
///   forward to it. `remainder` works per shard: a short last batch stays short (keep), is dropped, and the
///   shard ends there (drop), or is padded (pad).
///
/// The evaluate phase deals the test source to the shards in the same way, in source order, whole, keeping
/// short batches; its epoch plays no part.
///
/// One thread at a time. The batches handed out may be released by any thread, also after the reader is gone.
class BatchReader {
 public:
  /// `data` is not owned and must outlive the reader. Throws JobError with the key of what does not fit the
  /// source: data.shuffle, data.skip, data.take, train.remainder, or data.source where the source breaks its
  /// own contract; also when skip, take or remainder leave nothing to train on.
  BatchReader(const Job& job, Dataset& data);

  /// shard < S. Throws what the source throws; the same call may be made again.
  Item read(std::uint32_t shard, const Cursor& cursor);

  /// S, the number of shards.
  std::uint32_t shards() const { return shards_; }

  /// Whether there is a test source.
  bool evaluates() const { return test_ != nullptr; }

  /// Samples (or ready-made batches, see unit()) of one epoch's phase, after the cut; none where the length
  /// is unknown.
  std::optional<std::uint64_t> samples(Mode mode = Mode::train) const;

  /// Steps of one epoch's phase, none where the length is unknown; 0 for the evaluate phase without a test
  /// source.
  std::optional<std::uint64_t> steps_per_epoch(Mode mode = Mode::train) const;

  /// How the phase is dealt (for the ledger and for `plan`); none where the length is unknown.
  std::optional<Dealing> dealing(Mode mode = Mode::train) const;

  /// The cut of the training source; `exhausted` there means that data.take asked for more than there was.
  /// None for generators, which are not cut.
  const std::optional<Cut>& cut() const { return cut_; }

  /// What ranges and the ledger count: "sample" or "batch".
  std::string_view unit() const { return unit_; }

  /// The largest micro-batch of both phases, in bytes. For ready-made batches: of those read so far, at least
  /// the first; it can grow.
  std::uint64_t micro_batch_bytes_max() const;

  /// What both sources keep in memory, in bytes.
  std::uint64_t resident_bytes() const;

 private:
  const Feed* feed(Mode mode) const { return mode == Mode::train ? train_.get() : test_.get(); }

  const Dataset& data_;
  std::uint32_t shards_;
  std::string_view unit_;
  std::optional<Cut> cut_;
  std::unique_ptr<Feed> train_;
  std::unique_ptr<Feed> test_;
};

}  // namespace muster
