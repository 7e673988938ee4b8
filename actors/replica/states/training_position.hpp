// Where the training stands at a replica: the records that it holds, the place in the job's schedule, the
// ledger, the sums of the open epoch, and the epochs that are closed. Records move it on, alike on every
// replica. A pure rule. For one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/checkpoint/snapshot.hpp"
#include "actors/rules/steps/checkpoint_due.hpp"
#include "actors/rules/steps/ledger.hpp"
#include "actors/rules/steps/round_schedule.hpp"
#include "actors/rules/steps/step_events.hpp"
#include "muster/job.hpp"
#include "muster/progress.hpp"

namespace muster {

class TrainingPosition {
 public:
  /// At the beginning. The replica in `slot` reports the epochs.
  TrainingPosition(const Job& job, const DataFacts& facts, std::uint32_t slot);

  ReplicaPlace place() const;
  void restore(const ReplicaPlace& place);
  /// Goes on from there, as RoundSchedule::resume does: a reason, if it cannot.
  std::string resume(const ReplicaPlace& place);

  RoundSchedule& schedule() { return schedule_; }
  const RoundSchedule& schedule() const { return schedule_; }
  /// For CheckpointDuty.
  SchedulePoint point() const { return schedule_point(schedule_.cursor(), schedule_.steps()); }
  std::uint64_t records() const { return records_; }
  std::uint64_t record_hash() const { return record_hash_; }  ///< of the last record
  std::uint64_t samples() const { return samples_; }
  const std::vector<EpochEnd>& told() const { return told_; }

  /// From here on the record is held; it counts when it has been applied.
  void take(const RoundRecord& record);
  /// The last record is not held after all: it was not applied, and nothing in it has been counted.
  void take_back();

  /// The samples and losses of a training round. Error: a sample is counted twice, which cannot be.
  void count(const RoundRecord& record);
  /// The shards that the round went on without are computed later; returns them, ascending.
  std::vector<std::uint32_t> defer_left_out(const RoundRecord& record);
  std::vector<Event> events_of(const RoundRecord& record) { return step_events_.of(record); }

  /// The epoch has ended. Whether that is reported now, and not after its evaluation.
  bool close_epoch(bool data_ended);
  /// The losses of the evaluation of the epoch that was closed last.
  void evaluated(const RoundRecord& record);
  /// The epoch that was closed last is reported: it is one of those told.
  const EpochEnd& report_epoch();

 private:
  void open_epoch(std::uint64_t epoch);

  std::uint32_t shards_;
  std::uint32_t slot_;
  DataFacts facts_;

  std::uint64_t records_ = 0;
  std::uint64_t record_hash_ = 0;
  std::uint64_t hash_before_ = 0;  // of the record before the last one
  RoundSchedule schedule_;
  StepEvents step_events_;
  Ledger ledger_;
  std::uint64_t samples_ = 0;
  std::uint64_t dropped_ = 0;  // of the open epoch
  double epoch_loss_ = 0, epoch_weight_ = 0;
  EpochEnd closed_;
  std::vector<EpochEnd> told_;
};

}  // namespace muster
