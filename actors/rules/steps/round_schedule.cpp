#include "actors/rules/steps/round_schedule.hpp"

#include <algorithm>

namespace muster {

RoundScheduleOptions round_schedule_options(const Job& job, bool has_test) {
  RoundScheduleOptions options;
  options.steps = job.train.steps;
  options.passes = job.train.steps ? job.data.repeat.value_or(1) : job.train.epochs.value_or(1);
  options.evaluate = job.train.evaluate && has_test;
  return options;
}

bool RoundSchedule::takes_part(std::uint32_t shard) const {
  if (!replaying()) return true;
  const auto& shards = deferred_.steps.front().shards;
  return std::find(shards.begin(), shards.end(), shard) != shards.end();
}

std::string RoundSchedule::resume(const Cursor& cursor, std::uint64_t steps, bool finished,
                                  const std::vector<LedgerRow>& rows, DeferredBatches deferred) {
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
  restore(cursor, steps, finished, std::move(deferred));
  if (begins) {
    finished_ = cursor.epoch > 1 && (at_end || !has_epoch_after(options_, cursor.epoch - 1));
  } else if (closed && finished && cursor != Cursor{Mode::train, cursor.epoch, 0}) {
    finished_ = false;
    next_epoch();
  }
  return {};
}

RoundSchedule::Move RoundSchedule::step_committed() {
  ++steps_;
  if (!replaying()) ++cursor_.step;
  if (options_.steps && steps_ == *options_.steps) return end_epoch(false);
  return replaying() ? replayed() : Move{};
}

RoundSchedule::Move RoundSchedule::weightless() {
  if (replaying()) return replayed();
  ++cursor_.step;
  return {};
}

RoundSchedule::Move RoundSchedule::all_ended() {
  if (replaying()) return replayed();
  if (deferred_.steps.empty()) return end_epoch(true);
  deferred_.replaying = true;
  return {};
}

// What is owed of the step at the cursor was owed by shards that had not ended: they go on behind it.
RoundSchedule::Move RoundSchedule::replayed() {
  const std::uint64_t step = deferred_.steps.front().step;
  deferred_.steps.erase(deferred_.steps.begin());
  if (!deferred_.steps.empty()) return {};
  if (step < cursor_.step) return end_epoch(true);
  deferred_.replaying = false;
  ++cursor_.step;
  return {};
}

RoundSchedule::Move RoundSchedule::end_epoch(bool data_ended) {
  deferred_ = {};
  // An epoch without a single step will not get better by being repeated.
  if (cursor_.step == 0) {
    finished_ = true;
  } else if (options_.evaluate) {
    cursor_ = {Mode::evaluate, cursor_.epoch, 0};
  } else {
    next_epoch();
  }
  return {true, data_ended};
}

void RoundSchedule::evaluated() {
  next_epoch();
}

void RoundSchedule::next_epoch() {
  const bool enough = options_.steps && steps_ >= *options_.steps;
  if (enough || !has_epoch_after(options_, cursor_.epoch)) {
    finished_ = true;
  } else {
    cursor_ = {Mode::train, cursor_.epoch + 1, 0};
  }
}

}  // namespace muster
