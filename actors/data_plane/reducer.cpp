#include "actors/data_plane/reducer.hpp"

namespace muster {

namespace {

// Not if a newer view has overtaken this one, or if it could not be entered: then the node fails.
bool reduces(Engine& engine, std::uint32_t view) {
  return engine.view() == view && engine.reduction() != nullptr;
}

}  // namespace

reducer_actor::behavior_type reducer(reducer_actor::stateful_pointer<ReducerState> self,
                                     std::shared_ptr<DataPlane> plane, replica_actor replica) {
  self->state.replica = caf::actor_cast<caf::strong_actor_ptr>(replica);
  return {[=](const Open& open) {
            self->state.asker = self->current_sender();
            plane->run([open](Engine& engine) {
              if (!reduces(engine, open.view)) return;
              engine.reduction()->open(open.header, {open.result, open.elements}, open.keep);
            });
          },
          [=](const Offer& offer) {
            plane->post([offer](Engine& engine) {
              if (!reduces(engine, offer.view)) return;
              engine.reduction()->offer(offer.round, offer.nodes, offer.elements, offer.keep);
            });
          },
          [=](const Contribute& contribute) {
            plane->drive([contribute](Engine& engine) {
              if (!reduces(engine, contribute.view)) return;
              if (contribute.backup_task != 0) {
                engine.reduction()->add_backup(contribute.round, contribute.nodes.front(), contribute.metrics,
                                               contribute.keep);
                return;
              }
              engine.reduction()->contribute(contribute.round, contribute.nodes, contribute.metrics,
                                             contribute.keep, contribute.audits);
            });
          },
          [=](const ViewClosed& closed) {
            self->send(caf::actor_cast<replica_actor>(self->state.replica), closed);
          },
          [=](const TransferOut& record) {
            plane->post([record](Engine& engine) {
              if (engine.view() != record.view) return;
              if (record.transfer)
                return engine.transfer_state(record.to, record.kind, record.number, record.transfer);
              engine.send_loading(record.to, frame_with(RecordsBody{record.kind, record.number}),
                                  record.payload ? *record.payload : std::vector<std::byte>{});
            });
          },
          [=](const TransferIn& record) {
            self->send(caf::actor_cast<replica_actor>(self->state.replica), record);
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
