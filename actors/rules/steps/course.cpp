#include "actors/rules/steps/course.hpp"

#include <algorithm>

namespace muster {

CourseOptions course_options(const Job& job, bool has_test) {
  CourseOptions options;
  options.steps = job.train.steps;
  options.passes = job.train.steps ? job.data.repeat.value_or(1) : job.train.epochs.value_or(1);
  options.evaluate = job.train.evaluate && has_test;
  return options;
}

bool Course::takes_part(std::uint32_t shard) const {
  if (!paying()) return true;
  const auto& shards = debt_.owed.front().shards;
  return std::find(shards.begin(), shards.end(), shard) != shards.end();
}

std::string Course::resume(const Cursor& cursor, std::uint64_t steps, bool finished,
                           const std::vector<LedgerRow>& rows, Debt debt) {
  const bool closed = !rows.empty() && rows.back().epoch == cursor.epoch;
  const bool begins = !closed && cursor.step == 0;  // stands before the first step of an epoch
  const bool at_end = options_.steps && steps == *options_.steps;
  if (options_.steps && steps > *options_.steps) return "it lies beyond train.steps";
  if (options_.passes != 0 && cursor.epoch > options_.passes + (begins ? 1 : 0)) {
    return "it lies beyond the epochs that are asked for";
  }
  if (closed && !rows.back().complete && !at_end)
    return "its last epoch was cut short by another train.steps";
  if (!closed && !begins && at_end) return "train.steps would end its open epoch";
  restore(cursor, steps, finished, std::move(debt));
  if (begins) {
    finished_ = cursor.epoch > 1 && (at_end || !has_epoch_after(options_, cursor.epoch - 1));
  } else if (closed && finished && cursor != Cursor{Phase::train, cursor.epoch, 0}) {
    finished_ = false;
    next_epoch();
  }
  return {};
}

Course::Move Course::step_committed() {
  ++steps_;
  if (!paying()) ++cursor_.step;
  if (options_.steps && steps_ == *options_.steps) return end_epoch(false);
  return paying() ? paid() : Move{};
}

Course::Move Course::weightless() {
  if (paying()) return paid();
  ++cursor_.step;
  return {};
}

Course::Move Course::all_ended() {
  if (paying()) return paid();
  if (debt_.owed.empty()) return end_epoch(true);
  debt_.paying = true;
  return {};
}

// What is owed of the step at the cursor was owed by shards that had not ended: they go on behind it.
Course::Move Course::paid() {
  const std::uint64_t step = debt_.owed.front().step;
  debt_.owed.erase(debt_.owed.begin());
  if (!debt_.owed.empty()) return {};
  if (step < cursor_.step) return end_epoch(true);
  debt_.paying = false;
  ++cursor_.step;
  return {};
}

Course::Move Course::end_epoch(bool data_ended) {
  debt_ = {};
  // An epoch without a single step will not get better by being repeated.
  if (cursor_.step == 0) {
    finished_ = true;
  } else if (options_.evaluate) {
    cursor_ = {Phase::evaluate, cursor_.epoch, 0};
  } else {
    next_epoch();
  }
  return {true, data_ended};
}

void Course::evaluated() {
  next_epoch();
}

void Course::next_epoch() {
  const bool enough = options_.steps && steps_ >= *options_.steps;
  if (enough || !has_epoch_after(options_, cursor_.epoch)) {
    finished_ = true;
  } else {
    cursor_ = {Phase::train, cursor_.epoch + 1, 0};
  }
}

}  // namespace muster
