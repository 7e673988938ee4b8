#include "actors/replica/duties/state_receiver.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "muster/error.hpp"
#include "transport/collective/transfer/transfer_sender.hpp"

namespace muster {

bool StateReceiver::take(const TransferIn& message) {
  catch_up_.arrived(message.number, message.waiting);
  if (message.kind == FrameKind::state) {
    if (catch_up_.takes_state()) restore(message.payload);
    return false;
  }
  if (catch_up_.keep(message.number, message.payload)) return true;
  context_.trouble("more records were sent than it had asked for");
  return false;
}

// Read where it has come to: there is no other copy of it here.
void StateReceiver::restore(const CatchUp::Payload& payload) const {
  context_.compute([payload](TrainerState& trainer) {
    const SnapshotBounds bounds{trainer.job.train.shards, trainer.state.size(),
                                trainer.model->layout().parameters};
    auto snapshot = view_snapshot(*payload, bounds);
    if (!snapshot) throw Error("the state that a member gave cannot be read");
    muster::restore(trainer, *snapshot);
    Restored restored;
    restored.place = std::make_shared<const ReplicaPlace>(std::move(snapshot->place));
    return restored;
  });
}

StateReceiver::Next StateReceiver::next() {
  const ReplicaPhase& phase = context_.phase;
  const bool may = catch_up_.observing() ? catch_up_.has_state() : catch_up_.behind() && !phase.is_halted();
  if (phase.is_updating() || !may) return {};
  const CatchUp::Next next = catch_up_.next(context_.records());
  if (next.acknowledge)
    context_.port->to_reducer(TransferOut{context_.view().number, catch_up_.donor(), context_.records(),
                                          FrameKind::taken, nullptr});
  if (next.apply) return {read(*next.apply), false};
  context_.show(Activity::idle);
  if (!next.caught_up) return {};  // more will come
  if (!catch_up_.observing()) return {nullptr, true};
  context_.port->to_node(CaughtUp{{}, context_.view().number, context_.records(), catch_up_.donor()});
  return {};
}

// Its mean comes into the gradient. Null: it cannot be read, which is trouble.
std::shared_ptr<const RoundRecord> StateReceiver::read(std::span<const std::byte> record) const {
  auto& gradient = context_.trainer().gradient.host();
  auto handed = decode_record(record, context_.job().train.shards, gradient.size());
  if (!handed) {
    context_.trouble("record " + std::to_string(context_.records() + 1) +
                     " that a member gave cannot be read");
    return nullptr;
  }
  std::copy(handed->result.begin(), handed->result.end(), gradient.begin());
  return std::make_shared<const RoundRecord>(std::move(handed->record));
}

}  // namespace muster
