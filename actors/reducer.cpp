#include "muster/actors/reducer.hpp"

namespace muster {

reducer_actor::behavior_type reducer(reducer_actor::stateful_pointer<ReducerState> self, std::shared_ptr<DataPlane> plane) {
  return {[=](const Open& open) {
            self->state.asker = self->current_sender();
            plane->post([open](Engine& engine) {
              engine.reduction()->open(open.header, {open.result, open.elements});
            });
          },
          [=](const Contribute& contribute) {
            plane->post([contribute](Engine& engine) {
              engine.reduction()->contribute(contribute.round, contribute.nodes, contribute.metrics, contribute.keep);
            });
          },
          [=](const RoundDone& done) {
            if (done.record->kind == RoundKind::greeting) {
              self->send(caf::actor_cast<node_actor>(self->state.asker), done);
            } else {
              self->send(caf::actor_cast<replica_actor>(self->state.asker), done);
            }
          }};
}

}  // namespace muster
