#include "actors/loading/loader.hpp"

#include "actors/data_plane/data_plane.hpp"
#include "actors/pipeline/serialize.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

// On a loader's node it moves the progress status; on a replica that is the replica's.
Item read(TrainerState& trainer, const Demand& demand) {
  std::optional<ProgressBoard::InCall> call;
  if (trainer.reads_with_compute)
    call.emplace(*trainer.progress, ThreadCall{ThreadCall::Kind::reads, demand.shard, 0});
  if (trainer.model) {
    Item item = trainer.data.reader().read(demand.shard, demand.cursor);
    trainer.progress->moved();  // a sign of life, whichever shard is waited for
    return item;
  }
  trainer.progress->now(Activity::loading, demand.shard);
  Item item = trainer.data.reader().read(demand.shard, demand.cursor);
  trainer.progress->now(Activity::idle);
  return item;
}

}  // namespace

loader_actor::behavior_type loader(loader_actor::stateful_pointer<LoaderState> self,
                                   std::shared_ptr<TrainerState> trainer, std::shared_ptr<Executor> executor,
                                   node_actor node) {
  return {[=](const Demand& demand) {
    const auto asker = caf::actor_cast<shard_actor>(self->current_sender());
    executor->submit([trainer, asker, node, demand] {
      try {
        caf::anon_send(asker, Delivery{demand.ticket, read(*trainer, demand)});
      } catch (const std::exception& error) {
        const ErrorPlace at = place_of(demand.cursor, demand.shard);
        caf::anon_send(node, Trouble{"reading the data of " + at.text() + ": " + error.what(), {}, at});
      }
    });
  }};
}

loader_actor::behavior_type remote_loader(loader_actor::stateful_pointer<RemoteLoaderState>,
                                          std::shared_ptr<DataPlane> plane, std::uint32_t view,
                                          PeerId loader_peer) {
  return {[=](const Demand& demand) {
    const auto phase = static_cast<std::uint32_t>(demand.cursor.mode);
    const Frame frame =
        frame_with(DemandBody{demand.shard, demand.ticket, demand.cursor.epoch, phase, demand.cursor.step});
    plane->post([=](Engine& engine) {
      if (engine.view() == view) engine.send_loading(loader_peer, frame, {});
    });
  }};
}

shard_actor::behavior_type remote_shard(shard_actor::stateful_pointer<RemoteShardState>,
                                        std::shared_ptr<DataPlane> plane, std::uint32_t view,
                                        PeerId replica_peer) {
  return {[](const Need&) {},
          [=](const Delivery& delivery) {
            const Frame frame = frame_with(BatchBody{delivery.item.shard, delivery.ticket});
            auto payload = std::make_shared<std::vector<std::byte>>(encode_item(delivery.item));
            plane->post([=](Engine& engine) {
              if (engine.view() == view) engine.send_loading(replica_peer, frame, std::move(*payload));
            });
          },
          [](const RemoteDelivery&) {}};
}

}  // namespace muster
