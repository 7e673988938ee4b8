// One simulated run of a job, for tests that plan what goes wrong themselves.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/cluster.hpp"

namespace muster::simulation {

/// A process that dies: its actors and its end of the network vanish, its memory with them.
struct Loss {
  Nanoseconds when{0};  ///< virtual, from the start
  std::string node;     ///< "replica 1"
};

struct SimulationOptions {
  std::uint64_t seed = 1;
  Nanoseconds compute_max = std::chrono::milliseconds(20);  ///< a job on an executor takes up to this
  Nanoseconds loading_max = std::chrono::milliseconds(5);   ///< the same for reading one micro-batch
  Nanoseconds time_max = std::chrono::hours(1);             ///< virtual; beyond it the run has hung
  std::vector<Loss> losses = {};
  Nanoseconds disk_max = std::chrono::milliseconds(5);  ///< for writing a checkpoint
  /// Where checkpoints are written; null: the job must ask for none.
  std::shared_ptr<Disk> disk = nullptr;
  bool gpus = false;    ///< replicas compute on played GPUs, whose memory the network carries
  bool resume = false;  ///< go on from the newest checkpoint; throws NothingToResume
  /// What stands in a replica's place; empty: a replica.
  std::function<replica_actor(caf::actor_system& system, ReplicaSetup setup)> spawn_replica = nullptr;
  /// Called for each event, in virtual time; may kill nodes by name ("replica 1").
  std::function<void(const Event&, const std::function<void(const std::string&)>& kill)> on_event = nullptr;
};

struct SimulationResult {
  std::optional<Report> report;  ///< none: the run hung
  std::uint64_t trace_hash = 0;
  std::uint64_t deliveries = 0;  ///< messages and timed events
  Nanoseconds virtual_time{0};
};

SimulationResult simulate(const Job& job, const Registry& registry, const SimulationOptions& options);

}  // namespace muster::simulation
