// The loader: reads micro-batches on its executor and hands them to the shards that asked.
#pragma once

#include "actors/data_plane/data_plane.hpp"
#include "actors/data_plane/executor.hpp"
#include "actors/messages/messages.hpp"
#include "actors/trainer/trainer_state.hpp"

namespace muster {

struct LoaderState {
  static inline const char* name = "loader";
};

/// `executor` is where reading happens.
loader_actor::behavior_type loader(loader_actor::stateful_pointer<LoaderState> self,
                                   std::shared_ptr<TrainerState> trainer, std::shared_ptr<Executor> executor,
                                   node_actor node);

struct RemoteLoaderState {
  static inline const char* name = "remote_loader";
};

/// Stands for a loader on another node: sends each demand over the data plane. The answer comes to the shard
/// as RemoteDelivery. In that view only: the next one has others, and numbers demands anew.
loader_actor::behavior_type remote_loader(loader_actor::stateful_pointer<RemoteLoaderState> self,
                                          std::shared_ptr<DataPlane> plane, std::uint32_t view,
                                          PeerId loader_peer);

struct RemoteShardState {
  static inline const char* name = "remote_shard";
};

/// Stands, on a loader's node, for the shards of one replica elsewhere: sends each delivery over the data
/// plane, in that view only.
shard_actor::behavior_type remote_shard(shard_actor::stateful_pointer<RemoteShardState> self,
                                        std::shared_ptr<DataPlane> plane, std::uint32_t view,
                                        PeerId replica_peer);

}  // namespace muster
