// Where a replica's time goes: how long it waits for batches, computes, reduces and updates, in all and in
// the step at hand. Pure: the caller says what time it is. For one thread at a time.
#pragma once

#include <chrono>
#include <optional>

#include "actors/messages/epoch_end.hpp"
#include "actors/rules/watch/wait_share.hpp"
#include "transport/collective/rounds/round.hpp"

namespace muster {

class StepTimes {
 public:
  using Time = std::chrono::nanoseconds;  ///< on the replica's clock

  /// The view is in force.
  void begin(Time now);
  /// What passed until now is counted nowhere.
  void pass(Time now) { lap(now); }

  // --- what the time until now was spent with

  void gathered(Time now);
  /// The gradients of the step; `second`: the second of its two sums, whose time adds to that of the first.
  void computed(Time now, bool second);
  /// The replica has nothing to compute in this step.
  void computes_nothing() { computed_s_ = 0; }
  void evaluated(Time now);
  /// A round that has no record: its sums are a step's first ones, or it compared weights.
  void reduced(const RoundRecord& round, Time now);
  /// A round with a record. `given`: to a newcomer outside the view, which has reduced nothing.
  void recorded(const RoundRecord& record, Time now, bool given);
  void weighed(Time now) { phases_.update_s += lap(now); }
  /// The step is applied. Whether its progress is to be told: some time after the last one, or where `asked`.
  bool updated(Time now, bool asked);

  // --- what is told

  /// What the shards of this replica took in the step: loading and computing, in seconds.
  double step_seconds() const { return waited_s_ + computed_s_; }
  struct Starved {
    double waited_s = 0, computed_s = 0;
  };
  /// The step waited for its batches for longer than it computed, and for longer than threads need to wake.
  std::optional<Starved> starved() const;
  PhaseTimes phases() const;
  const Traffic& traffic() const { return traffic_; }

 private:
  double lap(Time now);  // seconds since the last lap

  std::optional<Time> lap_;
  Time told_{};  // progress
  double waited_s_ = 0, computed_s_ = 0;
  PhaseTimes phases_;
  WaitShare waits_;
  Traffic traffic_;
};

}  // namespace muster
