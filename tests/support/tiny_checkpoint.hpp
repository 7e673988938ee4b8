// What the checkpoints of a tiny job say of it: two shards, one parameter of four elements.
#pragma once

#include <string>

#include "actors/checkpoint/checkpoint_store.hpp"

namespace muster::testing {

inline CheckpointIdentity tiny_identity(const std::string& job_hash) {
  CheckpointIdentity identity;
  identity.job = "tiny";
  identity.job_hash = job_hash;
  identity.shards = 2;
  identity.layout.add_parameter("weight", {4});
  return identity;
}

}  // namespace muster::testing
