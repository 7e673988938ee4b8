#include "actors/replica/duties/backup_tasks.hpp"

#include <memory>
#include <utility>

namespace muster {

void BackupTasks::on(const RunBackupTask& message) {
  const bool waits = !context_.phase.is_halted() && !context_.phase.is_updating() &&
                     message.view == context_.view().number && message.round == context_.round &&
                     batches_.cursor().mode == Mode::train;
  if (!waits || message.begin >= message.end) return;
  if (queue_.add(message)) ask();
}

void BackupTasks::ask() {
  for (const auto& shard : queue_.current()->shards) context_.port->to_shard(shard, Need{batches_.cursor()});
}

bool BackupTasks::take(const Item& item) {
  if (batches_.holds(item.shard)) return false;
  if (item.cursor != batches_.cursor()) return true;
  auto items = queue_.take(item);
  if (!items) return true;
  context_.compute([items = std::move(*items), task = *queue_.current(),
                    step = context_.schedule().steps() + 1, turn = context_.turn](TrainerState& trainer) {
    const std::shared_ptr<Accumulator> accumulator = make_accumulator(trainer, task.begin, task.end);
    Computed computed = compute_step(trainer, *accumulator, items, step, turn);
    computed.backup_task = task.node;
    computed.keep = accumulator;
    return computed;
  });
  return true;
}

void BackupTasks::computed(const Computed& message) {
  context_.show(Activity::reducing);
  if (!queue_.computes(message.backup_task)) return;
  for (const NodeValue& value : message.nodes) {
    if (value.node == message.backup_task)
      context_.port->to_reducer(Contribute{context_.view().number,
                                           context_.round,
                                           {value},
                                           message.metrics,
                                           message.keep,
                                           message.backup_task});
  }
  if (queue_.next()) ask();
}

}  // namespace muster
