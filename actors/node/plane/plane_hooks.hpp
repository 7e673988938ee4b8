// What the data plane of a node tells the node's actors: each hook is called where the engine lives, and
// sends a message.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>

#include "actors/messages/messages.hpp"
#include "transport/collective/engine.hpp"
#include "transport/collective/rounds/progress.hpp"

namespace muster {

/// The actors that load for this node's replica, or for those of others.
struct LoadingActors {
  loader_actor loader;
  std::map<std::uint32_t, shard_actor> shards;
  std::map<PeerId, shard_actor> remote_shards;
};

/// Where the hooks find the actors. After the first view only the data plane's thread changes it.
struct PlaneBoard {
  node_actor node;
  reducer_actor reducer;
  LoadingActors loading;
};

/// `heartbeat`: the engine is driven at least so often while the process runs. `clock` outlives the engine.
Engine::Hooks plane_hooks(const std::shared_ptr<PlaneBoard>& board, const NodeName& self,
                          const std::shared_ptr<ProgressBoard>& progress, caf::actor_clock& clock,
                          std::chrono::milliseconds heartbeat);

}  // namespace muster
