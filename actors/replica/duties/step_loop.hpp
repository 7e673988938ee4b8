// The rounds of steps and evaluations: a replica gathers its shards' micro-batches, has them computed, and
// contributes. What follows from the record of a round is Bookkeeping's. For one thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "actors/replica/context/replica_context.hpp"
#include "actors/replica/duties/audits.hpp"
#include "actors/replica/states/step/batch_gathering.hpp"
#include "actors/replica/states/step/last_record.hpp"
#include "actors/replica/states/step/step_times.hpp"
#include "actors/replica/states/step/two_sums.hpp"
#include "actors/replica/states/step/weights_comparison.hpp"

namespace muster {

class StepLoop {
 public:
  /// `weights`: a block of them is compared with each round.
  StepLoop(const ReplicaContext& context, BatchGathering& batches, StepTimes& times, Audits& audits,
           const WeightsComparison& weights)
      : context_(context), batches_(batches), times_(times), audits_(audits), weights_(weights) {}

  /// The step at the schedule's cursor.
  void train() { gather(context_.schedule().cursor()); }
  void evaluate();
  void on(const MicroBatch& message, const caf::strong_actor_ptr& sender);
  /// The gradients or the evaluation of this replica's own shards.
  void computed(const Computed& message);
  /// The first sums of a step are there: each shard's second ones follow from them.
  void sketched(const RoundRecord& sketch);
  /// Applies the step of this record; Updated follows. `mean_wanted`: others are to have its mean. `twice` is
  /// a deliberate bug.
  void update(const LastRecord& last, bool mean_wanted, bool twice) const;

 private:
  void gather(const Cursor& cursor);
  void gathered();
  ShardReport report_of(const Item& item) const;
  void compute_step_of_shards();
  Offering offers() const;
  void evaluate_next_batches();

  const ReplicaContext& context_;
  BatchGathering& batches_;
  StepTimes& times_;
  Audits& audits_;
  const WeightsComparison& weights_;
  TwoSums two_sums_;
  std::vector<ShardMetrics> evaluation_;  // of the evaluation that is under way
};

}  // namespace muster
