#include "actors/replica/states/training_position.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr std::uint32_t kSlot = 3;

Job job_of_shards(std::uint32_t shards) {
  Job job;
  job.train.shards = shards;
  job.train.batch = 2;
  job.train.epochs = 2;
  return job;
}

DataFacts facts_of(std::int64_t samples, bool has_test = false) {
  DataFacts facts;
  facts.samples = samples;
  facts.has_test = has_test;
  return facts;
}

ShardReport word(std::uint32_t shard, std::uint64_t first, std::uint32_t rows, std::uint32_t ended = 0) {
  ShardReport word;
  word.shard = shard;
  word.ended = ended;
  word.rows = ended ? 0 : rows;
  word.first = first;
  word.count = rows;
  return word;
}

RoundRecord step(std::uint64_t number, std::vector<ShardReport> shards, double loss = 0) {
  RoundRecord record;
  record.step = number;
  record.hash = 1000 + number;
  record.weight = 1;
  record.shards = std::move(shards);
  ShardMetrics metrics;
  metrics.loss = loss;
  metrics.weight = 2;
  record.metrics.push_back(metrics);
  return record;
}

void apply(TrainingPosition& position, const RoundRecord& record) {
  position.take(record);
  position.count(record);
}

TEST(TrainingPosition, ARecordIsHeldOrTakenBack) {
  TrainingPosition position(job_of_shards(2), facts_of(8), kSlot);
  position.take(step(1, {}));
  position.take(step(2, {}));
  EXPECT_EQ(position.records(), 2u);
  EXPECT_EQ(position.record_hash(), 1002u);
  position.take_back();
  EXPECT_EQ(position.records(), 1u);
  EXPECT_EQ(position.record_hash(), 1001u);
}

TEST(TrainingPosition, AnEpochIsCountedAndReported) {
  TrainingPosition position(job_of_shards(2), facts_of(7), kSlot);
  apply(position, step(1, {word(0, 0, 2), word(1, 0, 2)}, 6));
  position.schedule().step_committed();
  apply(position, step(2, {word(0, 2, 2), word(1, 2, 1)}, 2));
  position.schedule().step_committed();
  EXPECT_EQ(position.samples(), 7u);
  EXPECT_TRUE(position.close_epoch(true)) << "there is no test set: it is reported now";
  EXPECT_TRUE(position.told().empty());
  const EpochEnd& epoch = position.report_epoch();
  EXPECT_EQ(epoch.slot, kSlot);
  EXPECT_TRUE(epoch.complete);
  EXPECT_EQ(epoch.used, 7u);
  EXPECT_EQ(epoch.missed, 0u);
  EXPECT_EQ(epoch.steps, 2u);
  EXPECT_DOUBLE_EQ(epoch.train_loss, 2.0) << "8 over a weight of 4";
  EXPECT_EQ(position.told().size(), 1u);
}

TEST(TrainingPosition, WithATestSetTheEpochIsReportedAfterItsEvaluation) {
  Job job = job_of_shards(1);
  job.train.evaluate = true;
  TrainingPosition position(job, facts_of(2, true), kSlot);
  apply(position, step(1, {word(0, 0, 2)}));
  position.schedule().step_committed();
  const auto move = position.schedule().all_ended();
  ASSERT_TRUE(move.epoch_ended);
  EXPECT_FALSE(position.close_epoch(move.data_ended));
  RoundRecord evaluation;
  evaluation.metrics.resize(2);
  evaluation.metrics[0].correct = 3;
  evaluation.metrics[0].loss = 1;
  evaluation.metrics[0].weight = 4;
  evaluation.metrics[1].weight = 4;
  position.evaluated(evaluation);
  const EpochEnd& epoch = position.report_epoch();
  EXPECT_TRUE(epoch.evaluated);
  EXPECT_DOUBLE_EQ(epoch.accuracy, 0.375);
  EXPECT_DOUBLE_EQ(epoch.loss, 0.125);
}

TEST(TrainingPosition, AnEpochThatIsCutIsNotComplete) {
  TrainingPosition position(job_of_shards(2), facts_of(100), kSlot);
  apply(position, step(1, {word(0, 0, 2), word(1, 0, 2)}));
  position.close_epoch(false);
  const EpochEnd& epoch = position.report_epoch();
  EXPECT_FALSE(epoch.complete);
  EXPECT_EQ(epoch.missed, 0u);
}

TEST(TrainingPosition, ShardsThatAStepWentOnWithoutAreComputedLater) {
  TrainingPosition position(job_of_shards(3), facts_of(12), kSlot);
  const RoundRecord record =
      step(1, {word(0, 0, 2), word(1, 0, 0, ShardReport::kLeftOut), word(2, 0, 0, ShardReport::kLeftOut)});
  apply(position, record);
  EXPECT_EQ(position.defer_left_out(record), (std::vector<std::uint32_t>{1, 2}));
  ASSERT_EQ(position.schedule().deferred().steps.size(), 1u);
  EXPECT_EQ(position.schedule().deferred().steps[0].shards, (std::vector<std::uint32_t>{1, 2}));
}

TEST(TrainingPosition, ASampleIsNotCountedTwiceAtOnePlace) {
  TrainingPosition position(job_of_shards(1), facts_of(4), kSlot);
  apply(position, step(1, {word(0, 0, 2)}));
  apply(position, step(2, {word(0, 2, 2)}));
  position.close_epoch(true);
  EXPECT_EQ(position.report_epoch().repeated, 0u);
}

TEST(TrainingPosition, AnotherReplicaGoesOnFromItsPlace) {
  TrainingPosition donor(job_of_shards(2), facts_of(7), 0);
  apply(donor, step(1, {word(0, 0, 2), word(1, 0, 2)}, 6));
  donor.schedule().step_committed();
  TrainingPosition newcomer(job_of_shards(2), facts_of(7), kSlot);
  newcomer.restore(donor.place());
  EXPECT_EQ(newcomer.records(), 1u);
  EXPECT_EQ(newcomer.record_hash(), 1001u);
  for (TrainingPosition* each : {&donor, &newcomer}) {
    apply(*each, step(2, {word(0, 2, 2), word(1, 2, 1)}, 2));
    each->schedule().step_committed();
    each->close_epoch(true);
    each->report_epoch();
  }
  EXPECT_TRUE(newcomer.told()[0].same_as(donor.told()[0]));
  EXPECT_EQ(newcomer.told()[0].slot, kSlot) << "it tells in its own name";
  EXPECT_EQ(newcomer.samples(), donor.samples());
}

}  // namespace
}  // namespace muster
