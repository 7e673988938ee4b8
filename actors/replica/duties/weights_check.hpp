// Weights that are compared with those of the other members: a block with each round, and all of them in a
// round of its own, the check, before anything depends on them that outlives this view. For one thread at a
// time.
#pragma once

#include "actors/replica/context/replica_context.hpp"
#include "actors/replica/states/step/step_times.hpp"
#include "actors/replica/states/step/weights_comparison.hpp"

namespace muster {

class WeightsCheck {
 public:
  WeightsCheck(const ReplicaContext& context, StepTimes& times) : context_(context), times_(times) {}

  const WeightsComparison& comparison() const { return comparison_; }
  /// The check: all weights are hashed, then its round is opened.
  void begin();
  void on(const Weighed& message);
  /// The record of the check: all members have these weights.
  void compared(const RoundRecord& check);
  /// A block of the weights behind the last step.
  void block_weighed(const WeightsHash& block) { comparison_.block_weighed(block); }
  /// Another state is in place.
  void forget_block() { comparison_.forget_block(); }

 private:
  const ReplicaContext& context_;
  StepTimes& times_;
  WeightsComparison comparison_;
};

}  // namespace muster
