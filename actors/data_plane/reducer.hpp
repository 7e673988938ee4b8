// The reducer: the way from a replica to the reduction on the data plane, and back.
#pragma once

#include "actors/data_plane/data_plane.hpp"
#include "actors/messages/messages.hpp"

namespace muster {

struct ReducerState {
  caf::strong_actor_ptr asker;  // who opened the round
  caf::strong_actor_ptr replica;
  static inline const char* name = "reducer";
};

/// Greetings and records are given to whoever opened the round.
reducer_actor::behavior_type reducer(reducer_actor::stateful_pointer<ReducerState> self,
                                     std::shared_ptr<DataPlane> plane, replica_actor replica);

}  // namespace muster
