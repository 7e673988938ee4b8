// The end of the job at a replica. The one that speaks writes the last checkpoint, if the job keeps any, and
// is done when it is there; the others hash their weights. For one thread at a time.
#pragma once

#include <optional>
#include <string>

#include "actors/replica/context/replica_context.hpp"
#include "actors/replica/duties/checkpoints.hpp"
#include "actors/replica/duties/part_exchange.hpp"
#include "actors/replica/states/step/step_times.hpp"

namespace muster {

class JobEnd {
 public:
  JobEnd(const ReplicaContext& context, PartExchange& parts, Checkpoints& checkpoints, const StepTimes& times)
      : context_(context), parts_(parts), checkpoints_(checkpoints), times_(times) {}

  /// All steps are done.
  void begin();
  void on(const Hashed& message);
  /// This replica is done: ReplicaDone goes to the node.
  void report(const std::string& state_sha256, const std::string& checkpoint);
  /// Reports it once more, if it was reported in this view.
  void report_again() const;
  /// The job's end is still to come.
  void forget() { done_.reset(); }

 private:
  void hash() const;

  const ReplicaContext& context_;
  PartExchange& parts_;
  Checkpoints& checkpoints_;
  const StepTimes& times_;
  std::optional<ReplicaDone> done_;  // as it was reported
};

}  // namespace muster
