// What a node does where bits are compared: it gives its replica shards to audit, and tells that members
// differ.
#include <utility>

#include "actors/node/node.hpp"

namespace muster {

void NodeState::on(const AuditShardRequest& message) {
  if (!replica_ || !own_.is(message.view) || !loading_->actors().loader) return;
  const shard_actor& shard_of = loading_->borrow(message.shard, own_.view());
  self_->send(replica_,
              AuditShardReply{message.view, message.shard, caf::actor_cast<caf::strong_actor_ptr>(shard_of)});
}

void NodeState::on(const UnlikeBits& message) {
  UnlikeBits named = message;
  named.name = setup_.name;
  named.view = own_.number();
  named.clean = reports_.clean();
  reports_.found_unlike(named);
  self_->send(setup_.coordinator, std::move(named));
}

void NodeState::on(const WentBack& message) {
  if (!own_.is(message.view)) return;
  WentBack named = message;
  named.name = setup_.name;
  reports_.went_back(named);
  self_->send(setup_.coordinator, std::move(named));
}

void NodeState::on(const Compared& message) {
  if (own_.is(message.view)) reports_.compared(message.clean);
}

}  // namespace muster
