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
  return std::all_of(record.shards.begin(), record.shards.end(), [](const ShardReport& report) {
    return !report.present() && report.ended != ShardReport::kLeftOut;
  });
}

// Whether the round had nothing but shards that it went on without. These are waited for: to go on without
// them once more would leave every step to come empty, too.
bool only_left_out(const RoundRecord& record) {
  return std::all_of(record.shards.begin(), record.shards.end(),
                     [](const ShardReport& report) { return report.ended != 0; });
}

}  // namespace

// What is applied is counted when it has been: until then it may be taken back.
void ReplicaState::step_recorded(const RoundRecord& record) {
  if (record.weight == 0) {
    if (count_step(record))
      moved(only_left_out(record) ? position_->schedule().all_ended() : position_->schedule().weightless());
    return;
  }
  const bool twice = catch_up_.behind() && canary("applies-twice");
  compute([record = record_, twice, mean = mean_, wanted = feed_.feeds_somebody()](TrainerState& trainer) {
    Updated updated;
    updated.not_finite = apply_step(trainer, *record, mean, wanted);
    updated.weights = weigh_block(trainer, record->step);
    if (trainer.clipping) updated.gradient_norm = trainer.clipping->norm();
    if (twice) apply_step(trainer, *record, mean);
    return updated;
  });
}

// False: that was impossible, and the run ends.
bool ReplicaState::count_step(const RoundRecord& record) {
  try {
    position_->count(record);
  } catch (const Error& error) {
    trouble(error.what());
    return false;
  }
  raise_dropped(record, position_->defer_left_out(record));
  if (all_ended(record)) return true;
  raise_step_events(record);
  raise_if_starved();
  return true;
}

// Each holder says which of its shards were left out.
void ReplicaState::raise_dropped(const RoundRecord& record, const std::vector<std::uint32_t>& shards) {
  std::vector<std::uint32_t> own;
  for (const std::uint32_t shard : shards) {
    if (shard >= assignment_.begin && shard < assignment_.end) own.push_back(shard);
  }
  if (own.empty()) return;
  self_->send(setup_.node, Raised{make_event("dropped", {{"replica", static_cast<std::int64_t>(setup_.slot)},
                                                         {"shards", std::to_string(own.front()) + "-" +
                                                                        std::to_string(own.back())},
                                                         {"epoch", static_cast<std::int64_t>(record.epoch)},
                                                         {"step", static_cast<std::int64_t>(record.step)}})});
}

void ReplicaState::moved(const RoundSchedule::Move& move) {
  if (move.epoch_ended && position_->close_epoch(move.data_ended)) report_epoch();
  next_round();
}

void ReplicaState::raise_step_events(const RoundRecord& record) {
  for (Event& event : position_->events_of(record)) {
    if (speaks()) self_->send(setup_.node, Raised{std::move(event)});
  }
}

void ReplicaState::raise_if_starved() {
  if (waited_s_ < kStarvedSecondsMin || waited_s_ <= computed_s_) return;
  self_->send(setup_.node, Raised{make_event("starved", {{"replica", static_cast<std::int64_t>(setup_.slot)},
                                                         {"epoch", static_cast<std::int64_t>(record_->epoch)},
                                                         {"step", static_cast<std::int64_t>(record_->step)},
                                                         {"waited_ms", waited_s_ * 1e3},
                                                         {"computed_ms", computed_s_ * 1e3}})});
}

void ReplicaState::on(const Updated& message) {
  if (!message.error.empty()) return trouble("the update failed: " + message.error);
  if (message.not_finite && !raise_not_finite(message.not_finite)) return;
  if (!count_step(*record_)) return;
  setup_.trainer->progress->trained(position_->samples());
  weights_ = message.weights;
  prove(*record_);
  if (mean_ != MeanIs::in_gradient) feed();  // the newcomers' copy has come from the GPU
  phases_.update_s += lap();
  const auto move = position_->schedule().step_committed();
  const std::uint64_t every = setup_.trainer->job.report.progress_every.steps;
  if (lap_ - progress_at_ >= kProgressInterval || (every > 0 && record_->step % every == 0)) {
    progress_at_ = lap_;
    double loss = 0, weight = 0;
    for (const ShardMetrics& metrics : record_->metrics) {
      loss += metrics.loss;
      weight += metrics.weight;
    }
    self_->send(setup_.node,
                Progress{record_->epoch, record_->step, position_->samples(), weight > 0 ? loss / weight : 0,
                         message.gradient_norm, part_deal_.took()});
  }
  moved(move);
}

void ReplicaState::report_epoch() {
  const EpochEnd& epoch = position_->report_epoch();
  if (!going_back_) report(epoch);  // else its steps are done again
}

void ReplicaState::report(EpochEnd epoch) {
  epoch.view = assignment_.view.number;
  self_->send(setup_.node, epoch);
}

void ReplicaState::report_epochs() {
  for (const EpochEnd& epoch : position_->told()) report(epoch);
}

void ReplicaState::evaluation_recorded(const RoundRecord& record) {
  position_->evaluated(record);
  report_epoch();
  position_->schedule().evaluated();
  next_round();
}

}  // namespace muster
