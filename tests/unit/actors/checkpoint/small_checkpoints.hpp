// A job with eight weights, and what a checkpoint of it holds at a step.
#pragma once

#include <cstdint>
#include <string>

#include "actors/checkpoint/checkpoint_store.hpp"

namespace muster {

inline constexpr std::uint32_t kSmallShards = 2;

inline CheckpointIdentity identity(const std::string& hash = std::string(64, 'a')) {
  CheckpointIdentity identity;
  identity.job = "tiny";
  identity.job_hash = hash;
  identity.fingerprint = "data 1";
  identity.seed = 3;
  identity.shards = kSmallShards;
  identity.layout.add_parameter("layer.weight", {2, 2});
  identity.layout.add_parameter("layer.bias", {2});
  identity.layout.add_buffer("mean", {2});
  return identity;
}

inline Snapshot snapshot_at(std::uint64_t step, std::uint64_t records = 0) {
  Snapshot snapshot;
  snapshot.place.records = records ? records : step + 2;
  snapshot.place.steps = step;
  snapshot.place.cursor = {Mode::train, 2, step};
  snapshot.place.ledger.begin_epoch(1, 100, kSmallShards);
  snapshot.place.ledger.finish(true, 0);
  snapshot.place.told = {{0, 1, true, step, 100, 100, 0, 0, 0, false, 0, 0, 0.5}};
  for (int i = 0; i < 8; ++i) snapshot.state.push_back(static_cast<float>(step) + 0.25F * i);
  for (const char* name : {"exp_avg", "exp_avg_sq"}) {
    snapshot.slots.push_back({name, {}});
    for (int i = 0; i < 6; ++i) snapshot.slots.back().values.push_back(static_cast<float>(step * 7 + i));
  }
  return snapshot;
}

}  // namespace muster
