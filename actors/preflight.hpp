// Everything that is looked at before anything starts: the job's own rules, the devices, the data, the model.
// `run` and `plan` both stand on it, so what `plan` accepts, `run` starts.
#pragma once

#include <string>
#include <vector>

#include "muster/actors/messages.hpp"
#include "muster/actors/registry.hpp"
#include "muster/config/job.hpp"
#include "muster/config/mistake.hpp"
#include "muster/config/placement.hpp"
#include "muster/gpu/model.hpp"

namespace muster {

struct Preflight {
  std::vector<Mistake> mistakes;  ///< not empty: nothing else holds
  Job job;                        ///< with defaults filled in
  Placement placement;
  DataFacts facts;
  std::vector<std::uint64_t> samples_of_shard;  ///< of an epoch; empty where the length is unknown
  std::uint64_t micro_batch_bytes = 0;
  std::uint64_t resident_bytes = 0;
  std::uint32_t prefetch_depth =
      0;  ///< what data.memory leaves of data.prefetch, on the node with most shards
  Layout layout;
  std::size_t optimizer_slots = 0;
};

/// Opens the data and builds the model once, then lets go of both. `places`: of the job file, for the
/// mistakes.
Preflight preflight(const Job& job, const Places& places, const Registry& registry);

/// Memory of one replica, in bytes, by what it is for; and what its node's loading may hold at most.
struct MemoryPlan {
  std::uint64_t state = 0, gradient = 0, accumulator = 0, optimizer = 0, staging = 0, loading = 0;
  std::uint64_t shard_states = 0;  ///< of the own shards, and the second copies of another replica's
  std::uint64_t total() const {
    return state + gradient + accumulator + optimizer + staging + loading + shard_states;
  }
};
MemoryPlan memory_of(const Preflight& flight, std::uint32_t replica);

}  // namespace muster
