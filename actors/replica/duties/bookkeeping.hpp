// What a replica counts and reports of each record: the ledger, the events of a step, its progress, the end
// of an epoch. It alone moves the training position. For one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/replica/context/replica_context.hpp"
#include "actors/replica/states/state_replacement.hpp"
#include "actors/replica/states/step/step_times.hpp"
#include "actors/replica/states/training_position.hpp"

namespace muster {

class Bookkeeping {
 public:
  /// `replacement`: the end of an epoch is not reported while the state is to be replaced.
  Bookkeeping(const ReplicaContext& context, StepTimes& times, const StateReplacement& replacement)
      : context_(context), times_(times), replacement_(replacement) {}

  // --- where the training stands

  void start(const Job& job, const DataFacts& facts, std::uint32_t slot) {
    position_.emplace(job, facts, slot);
  }
  const TrainingPosition& position() const { return *position_; }
  void restore(const ReplicaPlace& place) { position_->restore(place); }
  /// A run that goes on may have another end than the one that was given up. A reason, if it cannot go on.
  std::string resume(const ReplicaPlace& place) { return position_->resume(place); }

  // --- a record

  /// From here on it is held.
  void take(const RoundRecord& record) { position_->take(record); }
  /// It was not applied, and nothing in it has been counted.
  void take_back() { position_->take_back(); }
  /// Of a training round, when it has been applied. False: that was impossible, and the run ends.
  [[nodiscard]] bool count(const RoundRecord& record);
  /// It was counted, and is a step. `took`: the view of which the last record was taken.
  void step_applied(const RoundRecord& record, double gradient_norm, std::uint32_t took);
  /// It was counted, and is none: nothing in it weighs anything.
  void weightless(const RoundRecord& record);
  void evaluated(const RoundRecord& record);

  /// Reports all epochs that were reported before, to a coordinator that may not know of them.
  void report_told() const;

 private:
  void raise_dropped(const RoundRecord& record, const std::vector<std::uint32_t>& shards) const;
  void raise_step_events(const RoundRecord& record);
  void raise_if_starved(const RoundRecord& record) const;
  void moved(const RoundSchedule::Move& move);
  void report_epoch();
  void report(EpochEnd epoch) const;

  const ReplicaContext& context_;
  StepTimes& times_;
  const StateReplacement& replacement_;
  std::optional<TrainingPosition> position_;  // from `start` on
};

}  // namespace muster
