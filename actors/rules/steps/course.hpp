// The course of a job: which round comes next. A pure rule; every replica follows it alike, from the same
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

struct CourseOptions {
  std::optional<std::uint64_t> steps;  ///< train.steps
  std::uint64_t passes = 1;            ///< epochs that may be begun; 0: no bound
  bool evaluate = false;               ///< after each epoch, also one that train.steps cut short
};

CourseOptions course_options(const Job& job, bool has_test);

/// Micro-batches that a step went on without (straggler.action = "drop"): they come back at the end of their
/// epoch, in a round of their own.
struct Owed {
  std::uint64_t step = 0;             ///< of the cursor
  std::vector<std::uint32_t> shards;  ///< ascending

  bool operator==(const Owed&) const = default;
};

/// What a course owes in the open epoch, in the order in which it is paid.
struct Debt {
  std::vector<Owed> owed;
  bool paying = false;  ///< all shards have come to their end; the first of `owed` is the next round

  bool operator==(const Debt&) const = default;
};

/// A place in the job, and the rule that moves it on.
class Course {
 public:
  explicit Course(CourseOptions options) : options_(options) {}

  /// Stands from now on where another course with the same options stood.
  void restore(const Cursor& cursor, std::uint64_t steps, bool finished, Debt debt) {
    cursor_ = cursor;
    steps_ = steps;
    finished_ = finished;
    debt_ = std::move(debt);
  }

  /// The next round. While debts are paid it is one of the epoch's earlier ones, of the owed shards alone.
  Cursor cursor() const {
    return paying() ? Cursor{Phase::train, cursor_.epoch, debt_.owed.front().step} : cursor_;
  }
  /// Where the epoch stands; `cursor` but for debts.
  const Cursor& place() const { return cursor_; }
  const Debt& debt() const { return debt_; }
  bool paying() const { return debt_.paying; }
  /// Whether the shard takes part in the next round.
  bool takes_part(std::uint32_t shard) const;
  /// The round at the cursor goes on without these shards. To be said before the move of that round.
  void owe(std::vector<std::uint32_t> shards) { debt_.owed.push_back({cursor_.step, std::move(shards)}); }
  std::uint64_t steps() const { return steps_; }  ///< steps committed
  bool finished() const { return finished_; }

  /// Whether the data ended before train.steps: then the job is `exhausted`.
  bool ran_out() const { return finished_ && options_.steps && steps_ < *options_.steps; }

  /// Stands from now on where a course stood that may have had another end: one that was finished goes on if
  /// more is asked for now. `rows`: of the epochs that were closed. Gives a reason, and changes nothing, if
  /// this course never comes to that place.
  std::string resume(const Cursor& place, std::uint64_t steps, bool finished,
                     const std::vector<LedgerRow>& rows, Debt debt = {});

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
  /// A training round whose samples all weigh nothing, or are all owed: no step number, and the epoch goes
  /// on.
  Move weightless();
  /// The evaluation of the epoch is over.
  void evaluated();

  /// The epochs after `epoch` may be asked for; false after the last one. For prefetching.
  static bool has_epoch_after(const CourseOptions& options, std::uint64_t epoch) {
    return options.passes == 0 || epoch < options.passes;
  }

 private:
  Move paid();
  Move end_epoch(bool data_ended);
  void next_epoch();

  CourseOptions options_;
  Cursor cursor_;
  std::uint64_t steps_ = 0;
  bool finished_ = false;
  Debt debt_;
};

}  // namespace muster
