// What a node does where bits are compared: it gives its replica shards to audit, and tells that members
// differ.
#include "actors/loading/shard.hpp"
#include "actors/messages/peer_numbers.hpp"
#include "actors/node/node.hpp"

namespace muster {

// One at a time: what is ready of it is of no use when another one is audited.
void NodeState::on(const AuditShardRequest& message) {
  if (!replica_ || message.view != view_.number || !actors_.loader) return;
  if (borrowed_ && *borrowed_ != message.shard) {
    caf::anon_send_exit(actors_.shards[*borrowed_], caf::exit_reason::user_shutdown);
    actors_.shards.erase(*borrowed_);
  }
  auto& shard_of = actors_.shards[message.shard];
  if (!shard_of) {
    const RoundScheduleOptions schedule = round_schedule_options(*job_, view_.facts.has_test);
    // What was asked for an audit before may still be answered, and is of no use here.
    constexpr std::uint64_t kTicketsMax = std::uint64_t{1} << 32;
    shard_of = self_->spawn(shard, message.shard, 1u, schedule, actors_.loader, board_->node,
                            ++borrows_ * kTicketsMax);
    borrowed_ = message.shard;
    plane_->post([board = board_, actors = actors_](Engine&) { board->actors = actors; });
  }
  self_->send(replica_,
              AuditShardReply{message.view, message.shard, caf::actor_cast<caf::strong_actor_ptr>(shard_of)});
}

UnlikeBits NodeState::unlike_bits(const Unlike& found) {
  UnlikeBits message;
  message.bits = static_cast<std::uint8_t>(found.bits);
  message.first = found.first;
  message.step = found.step;
  for (const Unlike::Opinion& opinion : found.opinions) {
    message.slots.push_back(name_of(opinion.peer).slot);
    message.groups.push_back(opinion.group);
  }
  message.shards = found.shards;
  message.text = found.text();
  return message;
}

void NodeState::on(const UnlikeBits& message) {
  unlike_ = message;
  unlike_->name = setup_.name;
  unlike_->view = view_.number;
  unlike_->clean = clean_;
  self_->send(setup_.coordinator, *unlike_);
}

void NodeState::on(const WentBack& message) {
  if (message.view != view_.number) return;
  went_back_ = message;
  went_back_->name = setup_.name;
  self_->send(setup_.coordinator, *went_back_);
}

void NodeState::on(const Compared& message) {
  if (message.view == view_.number) clean_ = message.clean;
}

}  // namespace muster
