// What a replica's memory is taken by, and whether all replicas fit into what there is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/preflight/preflight.hpp"

namespace muster {

/// Memory of one replica, in bytes, by what it is for; and what its node's loading may hold at most. On a
/// GPU `on_host` is what it takes of the host beside it; else 0.
struct MemoryPlan {
  std::uint64_t state = 0, gradient = 0, accumulator = 0, optimizer = 0, staging = 0, loading = 0;
  std::uint64_t shard_states = 0;  ///< of the own shards, and the second copies of another replica's
  std::uint64_t batch = 0;  ///< what computing one micro-batch takes, as it was measured; 0: it was not
  std::uint64_t on_host = 0;
  /// Of the device that it computes on.
  std::uint64_t total() const {
    return state + gradient + accumulator + optimizer + staging + loading + shard_states + batch;
  }
};
MemoryPlan memory_of(const Preflight& flight, std::uint32_t replica);

/// "1.2 GiB (state 400 MiB, ...)": the whole, and its parts.
std::string text_of(const MemoryPlan& plan);

/// A mistake for each device whose replicas take more than there is, as far as both are known, and for each
/// replica that takes more of a GPU than cluster.device_memory.
std::vector<Mistake> check_memory(const Preflight& flight, const Places& places);

}  // namespace muster
