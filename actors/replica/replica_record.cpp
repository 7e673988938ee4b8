// What follows from a record: the ledger, the events, the update, the end of an epoch.
#include <algorithm>

#include "actors/events/event.hpp"
#include "actors/replica/replica.hpp"
#include "base/canary.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

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
  compute([record = last_.record(), twice, mean = last_.mean(),
           wanted = feed_.feeds_somebody()](TrainerState& trainer) {
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
  const auto starved = times_.starved();
  if (!starved) return;
  self_->send(setup_.node,
              Raised{make_event("starved", {{"replica", static_cast<std::int64_t>(setup_.slot)},
                                            {"epoch", static_cast<std::int64_t>(last_.record()->epoch)},
                                            {"step", static_cast<std::int64_t>(last_.record()->step)},
                                            {"waited_ms", starved->waited_s * 1e3},
                                            {"computed_ms", starved->computed_s * 1e3}})});
}

void ReplicaState::on(const Updated& message) {
  if (!message.error.empty()) return trouble("the update failed: " + message.error);
  if (message.not_finite && !raise_not_finite(message.not_finite)) return;
  const RoundRecord& record = *last_.record();
  if (!count_step(record)) return;
  setup_.trainer->progress->trained(position_->samples());
  weights_.block_weighed(message.weights);
  prove(record);
  if (last_.mean() != MeanIs::in_gradient) feed();  // the newcomers' copy has come from the GPU
  const auto move = position_->schedule().step_committed();
  const std::uint64_t every = setup_.trainer->job.report.progress_every.steps;
  if (times_.updated(now(), every > 0 && record.step % every == 0)) {
    double loss = 0, weight = 0;
    for (const ShardMetrics& metrics : record.metrics) {
      loss += metrics.loss;
      weight += metrics.weight;
    }
    self_->send(setup_.node,
                Progress{record.epoch, record.step, position_->samples(), weight > 0 ? loss / weight : 0,
                         message.gradient_norm, part_deal_.took()});
  }
  moved(move);
}

void ReplicaState::report_epoch() {
  const EpochEnd& epoch = position_->report_epoch();
  if (!replacement_.wanted()) report(epoch);  // else its steps are done again
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
