// The schedule of a job: which round comes next. A pure rule; every replica follows it alike, from the same
// records.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/messages/item.hpp"
#include "actors/rules/steps/ledger.hpp"
#include "muster/job.hpp"

namespace muster {

struct RoundScheduleOptions {
  std::optional<std::uint64_t> steps;  ///< train.steps
  std::uint64_t passes = 1;            ///< epochs that may be begun; 0: no bound
  bool evaluate = false;               ///< after each epoch, also one that train.steps cut short
};

RoundScheduleOptions round_schedule_options(const Job& job, bool has_test);

/// Deferred micro-batches: a step went on without them (straggler.action = "drop"). They come back at the end
/// of their epoch, in a round of their own.
struct DeferredStep {
  std::uint64_t step = 0;             ///< of the cursor
  std::vector<std::uint32_t> shards;  ///< ascending

  bool operator==(const DeferredStep&) const = default;
};

/// The deferred micro-batches of the open epoch, in the order in which they are replayed.
struct DeferredBatches {
  std::vector<DeferredStep> steps;
  bool replaying = false;  ///< all shards have come to their end; the first of `steps` is the next round

  bool operator==(const DeferredBatches&) const = default;
};

/// A place in the job, and the rule that moves it on.
class RoundSchedule {
 public:
  explicit RoundSchedule(RoundScheduleOptions options) : options_(options) {}

  /// Stands from now on where another schedule with the same options stood.
  void restore(const Cursor& cursor, std::uint64_t steps, bool finished, DeferredBatches deferred) {
    cursor_ = cursor;
    steps_ = steps;
    finished_ = finished;
    deferred_ = std::move(deferred);
  }

  /// The next round. While deferred micro-batches are replayed it is one of the epoch's earlier ones, of the
  /// deferred shards alone.
  Cursor cursor() const {
    return replaying() ? Cursor{Mode::train, cursor_.epoch, deferred_.steps.front().step} : cursor_;
  }
  /// Where the epoch stands; `cursor` but for deferred micro-batches.
  const Cursor& place() const { return cursor_; }
  const DeferredBatches& deferred() const { return deferred_; }
  bool replaying() const { return deferred_.replaying; }
  /// Whether the shard takes part in the next round.
  bool takes_part(std::uint32_t shard) const;
  /// The round at the cursor goes on without these shards. To be said before the move of that round.
  void defer(std::vector<std::uint32_t> shards) {
    deferred_.steps.push_back({cursor_.step, std::move(shards)});
  }
  std::uint64_t steps() const { return steps_; }  ///< steps committed
  bool finished() const { return finished_; }

  /// Whether the data ended before train.steps: then the job is `exhausted`.
  bool ran_out() const { return finished_ && options_.steps && steps_ < *options_.steps; }

  /// Stands from now on where a schedule stood that may have had another end: one that was finished goes on
  /// if more is asked for now. `rows`: of the epochs that were closed. Gives a reason, and changes nothing,
  /// if this schedule never comes to that place.
  std::string resume(const Cursor& place, std::uint64_t steps, bool finished,
                     const std::vector<LedgerRow>& rows, DeferredBatches deferred = {});

  /// What a move means. `epoch_ended`: the ledger of this epoch is closed now; the cursor stands at its
  /// evaluation, at the next epoch, or nowhere (finished).
  struct Move {
    bool epoch_ended = false;
    bool data_ended = false;  ///< the epoch ended because every shard had
  };

  /// A training round in which some shard was present: one step.
  Move step_committed();
  /// A training round in which every shard that takes part had ended: takes no step number.
  Move all_ended();
  /// A training round whose samples all weigh nothing, or are all deferred: no step number, and the epoch
  /// goes on.
  Move weightless();
  /// The evaluation of the epoch is over.
  void evaluated();

  /// The epochs after `epoch` may be asked for; false after the last one. For prefetching.
  static bool has_epoch_after(const RoundScheduleOptions& options, std::uint64_t epoch) {
    return options.passes == 0 || epoch < options.passes;
  }

 private:
  Move replayed();
  Move end_epoch(bool data_ended);
  void next_epoch();

  RoundScheduleOptions options_;
  Cursor cursor_;
  std::uint64_t steps_ = 0;
  bool finished_ = false;
  DeferredBatches deferred_;
};

}  // namespace muster
