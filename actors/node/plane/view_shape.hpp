// What a node makes of a view for its data plane.
#pragma once

#include <vector>

#include "actors/data_plane/data_plane.hpp"
#include "actors/messages/view.hpp"
#include "actors/trainer/trainer_state.hpp"
#include "muster/job.hpp"

namespace muster {

/// What a replica has to know to reduce with the others.
ReductionShape shape_of(const View& view, const NodeName& self, const Job& job, const TrainerState& trainer,
                        const DataPlane& plane);
/// The most that others may send.
Engine::Bounds bounds_of(const View& view, const Job& job, const TrainerState& trainer);
/// The members that a node connects to; loaders never meet.
std::vector<Member> peers_in(const View& view, const NodeName& self);

}  // namespace muster
