// What follows from a record: the ledger, the events, the update, the end of an epoch.
#include <algorithm>

#include "actors/events/event.hpp"
#include "actors/replica/replica.hpp"
#include "base/canary.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

constexpr auto kProgressInterval = kProgressTimeMin;
constexpr double kStarvedSecondsMin = 0.005;  // below, waiting is the noise of threads waking up

bool all_ended(const RoundRecord& record) {
  return std::all_of(record.shards.begin(), record.shards.end(), [](const ShardWord& word) {
    return !word.present() && word.ended != ShardWord::kLeftOut;
  });
}

// Whether the round had nothing but shards that it went on without. These are waited for: to go on without
// them once more would leave every step to come empty, too.
bool only_left_out(const RoundRecord& record) {
  return std::all_of(record.shards.begin(), record.shards.end(),
                     [](const ShardWord& word) { return word.ended != 0; });
}

}  // namespace

// What is applied is counted when it has been: until then it may be taken back.
void ReplicaState::step_recorded(const RoundRecord& record) {
  if (record.weight == 0) {
    if (count_step(record)) moved(only_left_out(record) ? course_->all_ended() : course_->weightless());
    return;
  }
  const bool twice = catch_up_.behind() && canary("applies-twice");
  compute([record = record_, twice, mean = mean_, wanted = feed_.feeds_somebody()](Workbench& bench) {
    Updated updated;
    updated.not_finite = apply_step(bench, *record, mean, wanted);
    updated.weights = weigh_block(bench, record->step);
    if (bench.clipping) updated.gradient_norm = bench.clipping->norm();
    if (twice) apply_step(bench, *record, mean);
    return updated;
  });
}

// False: that was impossible, and the run ends.
bool ReplicaState::count_step(const RoundRecord& record) {
  try {
    open_epoch(record.epoch);
    count_in_ledger(record);
  } catch (const Error& error) {
    trouble(error.what());
    return false;
  }
  owe_what_was_left_out(record);
  if (all_ended(record)) return true;
  raise_step_events(record);
  raise_if_starved();
  return true;
}

void ReplicaState::owe_what_was_left_out(const RoundRecord& record) {
  std::vector<std::uint32_t> shards;
  for (const ShardWord& word : record.shards) {
    if (word.ended == ShardWord::kLeftOut) shards.push_back(word.shard);
  }
  if (shards.empty()) return;
  // Each holder says which of its shards were left out.
  std::vector<std::uint32_t> own;
  for (const std::uint32_t shard : shards) {
    if (shard >= part_.begin && shard < part_.end) own.push_back(shard);
  }
  if (!canary("forgets-debt")) course_->owe(std::move(shards));
  if (own.empty()) return;
  self_->send(parts_.node, Raised{make_event("dropped", {{"replica", static_cast<std::int64_t>(parts_.slot)},
                                                         {"shards", std::to_string(own.front()) + "-" +
                                                                        std::to_string(own.back())},
                                                         {"epoch", static_cast<std::int64_t>(record.epoch)},
                                                         {"step", static_cast<std::int64_t>(record.step)}})});
}

void ReplicaState::moved(const Course::Move& move) {
  move.epoch_ended ? close_epoch(move.data_ended) : next_round();
}

void ReplicaState::count_in_ledger(const RoundRecord& record) {
  for (const ShardWord& word : record.shards) {
    if (word.ended) {
      dropped_ += word.count;
      continue;
    }
    ledger_.commit(record.epoch, word.shard, Range{word.first, static_cast<std::uint32_t>(word.count)});
    samples_ += word.rows;
  }
  for (const ShardMetrics& metrics : record.metrics) {
    epoch_loss_ += metrics.loss;
    epoch_weight_ += metrics.weight;
  }
}

void ReplicaState::raise_step_events(const RoundRecord& record) {
  for (Event& event : step_events_->of(record)) {
    if (speaks()) self_->send(parts_.node, Raised{std::move(event)});
  }
}

void ReplicaState::raise_if_starved() {
  if (waited_s_ < kStarvedSecondsMin || waited_s_ <= computed_s_) return;
  self_->send(parts_.node, Raised{make_event("starved", {{"replica", static_cast<std::int64_t>(parts_.slot)},
                                                         {"epoch", static_cast<std::int64_t>(record_->epoch)},
                                                         {"step", static_cast<std::int64_t>(record_->step)},
                                                         {"waited_ms", waited_s_ * 1e3},
                                                         {"computed_ms", computed_s_ * 1e3}})});
}

void ReplicaState::on(const Updated& message) {
  if (!message.error.empty()) return trouble("the update failed: " + message.error);
  if (message.not_finite && !raise_not_finite(message.not_finite)) return;
  if (!count_step(*record_)) return;
  parts_.bench->progress->trained(samples_);
  weights_ = message.weights;
  prove(*record_);
  if (mean_ != MeanIs::in_gradient) feed();  // the newcomers' copy has come from the card
  phases_.update_s += lap();
  const auto move = course_->step_committed();
  const std::uint64_t every = parts_.bench->job.report.progress_every.steps;
  if (lap_ - progress_at_ >= kProgressInterval || (every > 0 && record_->step % every == 0)) {
    progress_at_ = lap_;
    double loss = 0, weight = 0;
    for (const ShardMetrics& metrics : record_->metrics) {
      loss += metrics.loss;
      weight += metrics.weight;
    }
    self_->send(parts_.node, Progress{record_->epoch, record_->step, samples_, weight > 0 ? loss / weight : 0,
                                      message.gradient_norm, took_});
  }
  moved(move);
}

void ReplicaState::close_epoch(bool data_ended) {
  std::uint64_t dropped = dropped_ + parts_.facts.dropped;
  const LedgerRow whole = ledger_.row(true, dropped);
  const bool all_used =
      parts_.facts.samples >= 0 && whole.used + dropped == static_cast<std::uint64_t>(parts_.facts.samples);
  const bool complete = data_ended || all_used;
  if (!complete) dropped = dropped_;
  const LedgerRow row = ledger_.finish(complete, dropped);
  epoch_ = EpochEnd{parts_.slot,
                    row.epoch,
                    row.complete,
                    course_->steps(),
                    samples_,
                    row.used,
                    row.repeated,
                    row.missed,
                    row.dropped,
                    false,
                    0,
                    0,
                    epoch_weight_ > 0 ? epoch_loss_ / epoch_weight_ : 0};
  if (course_->finished() || course_->cursor().phase == Phase::train) report_epoch();
  next_round();
}

void ReplicaState::report_epoch() {
  told_.push_back(epoch_);
  if (!going_back_) tell(epoch_);  // else its steps are done again
}

void ReplicaState::tell(EpochEnd epoch) {
  epoch.view = part_.view.number;
  self_->send(parts_.node, epoch);
}

void ReplicaState::tell_epochs() {
  for (const EpochEnd& epoch : told_) tell(epoch);
}

void ReplicaState::evaluation_recorded(const RoundRecord& record) {
  double loss = 0, correct = 0, weight = 0;
  for (const ShardMetrics& metrics :
       record.metrics) {  // in the order of shards: the same bits on any replicas
    loss += metrics.loss;
    correct += metrics.correct;
    weight += metrics.weight;
  }
  epoch_.evaluated = weight > 0;
  if (weight > 0) {
    epoch_.loss = loss / weight;
    epoch_.accuracy = correct / weight;
  }
  report_epoch();
  course_->evaluated();
  next_round();
}

}  // namespace muster
