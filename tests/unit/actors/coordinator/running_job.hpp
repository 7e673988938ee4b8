// The facts of a run, for tests of the coordinator's parts.
#pragma once

#include <memory>
#include <utility>

#include "actors/coordinator/facts/run_facts.hpp"
#include "tests/unit/actors/rules/membership/membership_in_view.hpp"

namespace muster {

/// What the parts of a coordinator know of a run.
struct CoordinatorFacts {
  virtual ~CoordinatorFacts() = default;

  Membership& membership() { return *run.membership; }

  RunFacts run;
  CheckpointFacts checkpoints;
};

/// No node has come yet.
struct StartingJob : CoordinatorFacts {
  explicit StartingJob(std::uint32_t replicas, std::uint32_t loaders = 0) {
    run.setup.job = job_of(replicas, loaders);
    run.setup.job_hash = "hash";
    run.membership = std::make_unique<Membership>(run.setup.job);
    run.watch = std::make_unique<ClusterWatch>(run.setup.job.cluster, kCoordinatorTick);
    checkpoints.known =
        std::make_unique<KnownCheckpoints>(nullptr, run.setup.job, run.setup.job_hash, checkpoints.verdicts);
  }
};

/// The first view is in force.
struct RunningJob : CoordinatorFacts {
  explicit RunningJob(std::uint32_t replicas, std::uint32_t loaders = 0) {
    run.setup.job = job_of(replicas, loaders);
    run.setup.job_hash = "hash";
    run.membership = std::make_unique<Membership>(membership_in_view(replicas, loaders, run.view));
    run.watch = std::make_unique<ClusterWatch>(run.setup.job.cluster, kCoordinatorTick);
    run.watch->entered(run.view);
    run.watch->begun();
    run.begun = run.took_effect = true;
    run.phase = CoordinatorPhase::running;
    checkpoints.known =
        std::make_unique<KnownCheckpoints>(nullptr, run.setup.job, run.setup.job_hash, checkpoints.verdicts);
  }
};

}  // namespace muster
