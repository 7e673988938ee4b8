// A shard: a fixed slice of the mathematics. Keeps its next micro-batches ready, and says when it has ended.
#pragma once

#include "actors/messages/messages.hpp"
#include "actors/rules/steps/shard_queue.hpp"

namespace muster {

struct ShardState {
  std::unique_ptr<ShardQueue> queue;
  caf::strong_actor_ptr replica;  // who asked last
  static inline const char* name = "shard";
};

/// `ticket`: of the demands of another shard_actor of the same shard in this view (ShardQueue).
shard_actor::behavior_type shard(shard_actor::stateful_pointer<ShardState> self, std::uint32_t number,
                                 std::uint32_t depth, RoundScheduleOptions schedule, loader_actor loader,
                                 node_actor node, std::uint64_t ticket);

}  // namespace muster
