// What a replica computes for late ones while it waits for them: the same micro-batches, hence the same bits.
// Whichever answer comes first counts. Given up as soon as the round is over.
#include <algorithm>

#include "actors/replica/replica.hpp"

namespace muster {

void ReplicaState::on(const RunBackupTask& message) {
  const bool waits = !halted_ && !updating_ && message.view == assignment_.view.number &&
                     message.round == round_ && gathering_.mode == Mode::train;
  if (!waits || message.begin >= message.end) return;
  backup_tasks_.push_back(message);
  if (backup_tasks_.size() == 1) begin_backup_task();
}

void ReplicaState::begin_backup_task() {
  const RunBackupTask& backup_task = backup_tasks_.front();
  backup_task_items_.assign(backup_task.end - backup_task.begin, std::nullopt);
  for (const auto& shard : backup_task.shards)
    self_->send(caf::actor_cast<shard_actor>(shard), Need{gathering_});
}

// Whether this item is for a shard of the backup task, or was.
bool ReplicaState::take_for_backup_task(const Item& item) {
  const bool own = item.shard >= assignment_.begin && item.shard < assignment_.end;
  if (own) return false;
  if (backup_tasks_.empty() || item.cursor != gathering_) return true;
  const RunBackupTask& backup_task = backup_tasks_.front();
  if (item.shard < backup_task.begin || item.shard >= backup_task.end) return true;
  auto& place = backup_task_items_[item.shard - backup_task.begin];
  if (place) return true;
  place = item;
  if (!std::all_of(backup_task_items_.begin(), backup_task_items_.end(),
                   [](const auto& each) { return each.has_value(); }))
    return true;
  std::vector<Item> items;
  for (auto& each : backup_task_items_) items.push_back(std::move(*each));
  compute([items = std::move(items), backup_task, step = position_->schedule().steps() + 1,
           turn = turn_](TrainerState& trainer) {
    const std::shared_ptr<Accumulator> accumulator =
        make_accumulator(trainer, backup_task.begin, backup_task.end);
    Computed computed = compute_step(trainer, *accumulator, items, step, turn);
    computed.backup_task = backup_task.node;
    computed.keep = accumulator;
    return computed;
  });
  return true;
}

void ReplicaState::backup_task_done(const Computed& message) {
  setup_.trainer->progress->now(Activity::reducing);
  if (backup_tasks_.empty() || backup_tasks_.front().node != message.backup_task) return;
  for (const NodeValue& value : message.nodes) {
    if (value.node == message.backup_task)
      self_->send(
          reducer_,
          Contribute{
              assignment_.view.number, round_, {value}, message.metrics, message.keep, message.backup_task});
  }
  backup_tasks_.pop_front();
  if (!backup_tasks_.empty()) begin_backup_task();
}

}  // namespace muster
