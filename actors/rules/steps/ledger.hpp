// Which positions of an epoch were used by committed steps: counted, one bit a position, not derived from
// what should be.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "actors/messages/dealing.hpp"

namespace muster {

/// One epoch of the report. Counts samples, or batches where the source yields ready-made ones.
struct LedgerRow {
  std::uint64_t epoch = 0;
  bool complete = false;
  std::uint64_t used = 0;      ///< positions used at least once
  std::uint64_t repeated = 0;  ///< uses beyond each position's first
  std::uint64_t missed =
      0;  ///< positions of a complete epoch never used nor dropped; 0 for one that is not complete
  std::uint64_t dropped = 0;  ///< positions that the job said to drop

  bool operator==(const LedgerRow&) const = default;
};

/// All that a ledger holds, to be kept and restored.
struct LedgerState {
  struct ShardBits {
    std::vector<std::uint64_t> words;  ///< bit i of word w: local index 64 w + i was used
    std::uint64_t end = 0;             ///< one beyond the highest local index used

    bool operator==(const ShardBits&) const = default;
  };

  bool open = false;
  std::uint64_t epoch = 0;
  std::optional<std::uint64_t> samples;  ///< of an epoch
  std::vector<ShardBits> shards;         ///< of the open epoch
  std::uint64_t used = 0;                ///< of the open epoch, or of the last one
  std::uint64_t repeated = 0;
  std::vector<LedgerRow> rows;  ///< the finished epochs

  bool operator==(const LedgerState&) const = default;
};

/// A value: copies are independent; one thread at a time. Costs one bit a position reached.
///
/// Ranges come with messages of other processes: one that cannot be (another epoch, a shard or a position
/// that is not there) throws Error and changes nothing.
class Ledger {
 public:
  /// The longest shard whose length is unknown: bounds the memory that a wrong range can take (1 GiB a
  /// shard).
  static constexpr std::uint64_t kUnknownShardMax = std::uint64_t{1} << 33;

  /// Opens an epoch; the one before must be finished. `samples`: its length, none where it is unknown.
  void begin_epoch(std::uint64_t epoch, std::optional<std::uint64_t> samples, std::uint32_t shards);

  /// A committed step used these of the shard's local indices.
  void commit(std::uint64_t epoch, std::uint32_t shard, const Range& range);

  /// Closes the epoch and keeps its row. Complete: every shard was read to its end. Where the length is
  /// unknown, a position is missed when a later one of the same shard was used.
  LedgerRow finish(bool complete, std::uint64_t dropped);

  /// The row that finish would give now.
  LedgerRow row(bool complete, std::uint64_t dropped) const;

  bool open() const { return state_.open; }

  /// The finished epochs, in order.
  const std::vector<LedgerRow>& rows() const { return state_.rows; }

  const LedgerState& state() const { return state_; }

  /// The ledger that was in this state; nothing if no ledger of so many shards can be in it.
  static std::optional<Ledger> restored(LedgerState state, std::uint32_t shards);

 private:
  using ShardBits = LedgerState::ShardBits;

  std::uint64_t shard_limit(std::uint32_t shard) const;

  LedgerState state_;
};

}  // namespace muster
