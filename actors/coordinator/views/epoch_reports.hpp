// What replicas report of epochs, and of the end of their training.
#pragma once

#include <cstdint>

#include "actors/coordinator/facts/coordinator_port.hpp"
#include "actors/coordinator/facts/run_actions.hpp"
#include "actors/coordinator/facts/run_facts.hpp"

namespace muster {

class EpochReports {
 public:
  EpochReports(RunFacts& run, const CheckpointFacts& checkpoints, CoordinatorPort& port, EndActions& ending)
      : run_(run), checkpoints_(checkpoints), port_(port), ending_(ending) {}

  /// Every replica counts the ledger for itself; they must agree.
  void on(const EpochEnd& message);
  void on(const ReplicaDone& message);
  /// Counts those that only replicas had not told of that are lost now.
  void count_open();

 private:
  void count_epoch(std::uint64_t epoch, bool all_reported = false);
  void complete();

  RunFacts& run_;
  const CheckpointFacts& checkpoints_;
  CoordinatorPort& port_;
  EndActions& ending_;
};

}  // namespace muster
