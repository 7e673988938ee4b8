// What a replica computes for late ones while it waits for them: the same micro-batches, hence the same bits.
// Whichever answer comes first counts. Given up as soon as the round is over.
#include "actors/replica/replica.hpp"

namespace muster {

void ReplicaState::on(const RunBackupTask& message) {
  const bool waits = !phase_.is_halted() && !phase_.is_updating() &&
                     message.view == assignment_.view.number && message.round == round_ &&
                     batches_.cursor().mode == Mode::train;
  if (!waits || message.begin >= message.end) return;
  if (backups_.add(message)) ask_for_backup();
}

void ReplicaState::ask_for_backup() {
  for (const auto& shard : backups_.current()->shards)
    self_->send(caf::actor_cast<shard_actor>(shard), Need{batches_.cursor()});
}

// Whether the item is of another replica's shard: for the backup task at hand, or for one that is given up.
bool ReplicaState::take_for_backup_task(const Item& item) {
  if (batches_.holds(item.shard)) return false;
  if (item.cursor != batches_.cursor()) return true;
  auto items = backups_.take(item);
  if (!items) return true;
  compute([items = std::move(*items), task = *backups_.current(), step = position_->schedule().steps() + 1,
           turn = turn_](TrainerState& trainer) {
    const std::shared_ptr<Accumulator> accumulator = make_accumulator(trainer, task.begin, task.end);
    Computed computed = compute_step(trainer, *accumulator, items, step, turn);
    computed.backup_task = task.node;
    computed.keep = accumulator;
    return computed;
  });
  return true;
}

void ReplicaState::backup_task_done(const Computed& message) {
  setup_.trainer->progress->now(Activity::reducing);
  if (!backups_.computes(message.backup_task)) return;
  for (const NodeValue& value : message.nodes) {
    if (value.node == message.backup_task)
      self_->send(
          reducer_,
          Contribute{
              assignment_.view.number, round_, {value}, message.metrics, message.keep, message.backup_task});
  }
  if (backups_.next()) ask_for_backup();
}

}  // namespace muster
