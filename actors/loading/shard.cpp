#include "actors/loading/shard.hpp"

#include "actors/pipeline/serialize.hpp"

namespace muster {

namespace {

using Self = shard_actor::stateful_pointer<ShardState>;

void ask(Self self, std::uint32_t number, const loader_actor& loader) {
  for (const auto& wanted : self->state.queue->demands()) {
    self->send(loader, Demand{number, wanted.cursor, wanted.ticket});
  }
}

void deliver_item(Self self, std::optional<Item> item) {
  if (item) self->send(caf::actor_cast<replica_actor>(self->state.replica), MicroBatch{std::move(*item)});
}

}  // namespace

shard_actor::behavior_type shard(Self self, std::uint32_t number, std::uint32_t depth,
                                 RoundScheduleOptions schedule, loader_actor loader, node_actor node,
                                 std::uint64_t ticket) {
  self->state.queue = std::make_unique<ShardQueue>(number, depth, schedule, ticket);
  return {[=](const Need& need) {
            self->state.replica = self->current_sender();
            deliver_item(self, self->state.queue->need(need.cursor));
            ask(self, number, loader);
          },
          [=](const Delivery& delivery) {
            deliver_item(self, self->state.queue->delivered(delivery.ticket, delivery.item));
            ask(self, number, loader);
          },
          [=](const RemoteDelivery& delivery) {
            auto item = decode_item(*delivery.payload);
            if (!item || item->shard != number) {
              self->send(node, Trouble{"shard " + std::to_string(number) +
                                       " received a micro-batch that cannot be read"});
              return;
            }
            deliver_item(self, self->state.queue->delivered(delivery.ticket, std::move(*item)));
            ask(self, number, loader);
          }};
}

}  // namespace muster
