#include "actors/replica/states/training_position.hpp"

#include <optional>
#include <utility>

#include "base/canary.hpp"

namespace muster {

TrainingPosition::TrainingPosition(const Job& job, const DataFacts& facts, std::uint32_t slot)
    : shards_(job.train.shards),
      slot_(slot),
      facts_(facts),
      schedule_(round_schedule_options(job, facts.has_test)),
      step_events_(facts.unit_is_batch ? 0 : job.train.batch) {}

ReplicaPlace TrainingPosition::place() const {
  ReplicaPlace place;
  place.records = records_;
  place.record_hash = record_hash_;
  place.cursor = schedule_.place();
  place.deferred = schedule_.deferred();
  place.steps = schedule_.steps();
  place.finished = schedule_.finished();
  place.samples = samples_;
  place.ledger = ledger_;
  place.dropped = dropped_;
  place.epoch_loss = epoch_loss_;
  place.epoch_weight = epoch_weight_;
  place.seen = step_events_.seen();
  place.closed = closed_;
  place.told = told_;
  return place;
}

void TrainingPosition::restore(const ReplicaPlace& place) {
  records_ = place.records;
  record_hash_ = place.record_hash;
  schedule_.restore(place.cursor, place.steps, place.finished, place.deferred);
  samples_ = place.samples;
  ledger_ = place.ledger;
  dropped_ = place.dropped;
  epoch_loss_ = place.epoch_loss;
  epoch_weight_ = place.epoch_weight;
  step_events_.restore(place.seen);
  closed_ = place.closed;
  closed_.slot = slot_;
  told_ = place.told;
  for (EpochEnd& epoch : told_) epoch.slot = slot_;
}

std::string TrainingPosition::resume(const ReplicaPlace& place) {
  return schedule_.resume(place.cursor, place.steps, place.finished, place.ledger.rows(), place.deferred);
}

void TrainingPosition::take(const RoundRecord& record) {
  hash_before_ = std::exchange(record_hash_, record.hash);
  ++records_;
}

void TrainingPosition::take_back() {
  if (!canary("not-finite-counts")) --records_;
  record_hash_ = hash_before_;
}

void TrainingPosition::open_epoch(std::uint64_t epoch) {
  if (ledger_.open()) return;
  std::optional<std::uint64_t> samples;
  if (facts_.samples >= 0) samples = static_cast<std::uint64_t>(facts_.samples);
  ledger_.begin_epoch(epoch, samples, shards_);
  step_events_.begin_epoch();
  dropped_ = 0;
  epoch_loss_ = epoch_weight_ = 0;
}

void TrainingPosition::count(const RoundRecord& record) {
  open_epoch(record.epoch);
  for (const ShardReport& out : record.shards) {
    if (out.ended) {
      dropped_ += out.count;
      continue;
    }
    ledger_.commit(record.epoch, out.shard, Range{out.first, static_cast<std::uint32_t>(out.count)});
    samples_ += out.rows;
  }
  for (const ShardMetrics& metrics : record.metrics) {
    epoch_loss_ += metrics.loss;
    epoch_weight_ += canary("losses-are-sums") ? 0 : metrics.weight;
  }
}

std::vector<std::uint32_t> TrainingPosition::defer_left_out(const RoundRecord& record) {
  std::vector<std::uint32_t> shards;
  for (const ShardReport& out : record.shards) {
    if (out.ended == ShardReport::kLeftOut) shards.push_back(out.shard);
  }
  if (!shards.empty() && !canary("forgets-debt")) schedule_.defer(shards);
  return shards;
}

bool TrainingPosition::close_epoch(bool data_ended) {
  std::uint64_t dropped = dropped_ + facts_.dropped;
  const LedgerRow whole = ledger_.row(true, dropped);
  const bool all_used =
      facts_.samples >= 0 && whole.used + dropped == static_cast<std::uint64_t>(facts_.samples);
  const bool complete = data_ended || all_used;
  if (!complete) dropped = dropped_;
  const LedgerRow row = ledger_.finish(complete, dropped);
  closed_ = EpochEnd{};
  closed_.slot = slot_;
  closed_.epoch = row.epoch;
  closed_.complete = row.complete;
  closed_.steps = schedule_.steps();
  closed_.samples = samples_;
  closed_.used = row.used;
  closed_.repeated = row.repeated;
  closed_.missed = row.missed;
  closed_.dropped = row.dropped;
  closed_.train_loss = epoch_weight_ > 0 ? epoch_loss_ / epoch_weight_ : 0;
  return schedule_.finished() || schedule_.cursor().mode == Mode::train;
}

// In the order of shards: the same bits on any number of replicas.
void TrainingPosition::evaluated(const RoundRecord& record) {
  double loss = 0, correct = 0, weight = 0;
  for (const ShardMetrics& metrics : record.metrics) {
    loss += metrics.loss;
    correct += metrics.correct;
    weight += metrics.weight;
  }
  closed_.evaluated = weight > 0;
  if (weight <= 0) return;
  closed_.loss = loss / weight;
  closed_.accuracy = correct / weight;
}

const EpochEnd& TrainingPosition::report_epoch() {
  return told_.emplace_back(closed_);
}

}  // namespace muster
