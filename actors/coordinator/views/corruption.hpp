// Members of a view hold other bits: who is wrong, as far as that can be told, and what follows.
#pragma once

#include <cstdint>
#include <vector>

#include "actors/coordinator/facts/coordinator_port.hpp"
#include "actors/coordinator/facts/run_actions.hpp"
#include "actors/coordinator/facts/run_facts.hpp"
#include "actors/coordinator/views/suspect_checkpoints.hpp"

namespace muster {

class Corruption {
 public:
  Corruption(RunFacts& run, CheckpointFacts& checkpoints, SuspectCheckpoints& suspects, CoordinatorPort& port,
             ViewActions& views, EndActions& ending)
      : run_(run),
        checkpoints_(checkpoints),
        suspect_checkpoints_(suspects),
        port_(port),
        views_(views),
        ending_(ending) {}

  void on(const UnlikeBits& message);

 private:
  void evict_corrupt(const UnlikeBits& message, const std::vector<std::uint32_t>& odd);

  RunFacts& run_;
  CheckpointFacts& checkpoints_;
  SuspectCheckpoints& suspect_checkpoints_;
  CoordinatorPort& port_;
  ViewActions& views_;
  EndActions& ending_;
};

}  // namespace muster
