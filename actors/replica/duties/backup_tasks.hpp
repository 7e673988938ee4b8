// What a replica computes for late ones while it waits for them: the same micro-batches, hence the same bits.
// Whichever answer comes first counts. Given up as soon as the round is over. For one thread at a time.
#pragma once

#include "actors/replica/context/replica_context.hpp"
#include "actors/replica/states/step/backup_queue.hpp"
#include "actors/replica/states/step/batch_gathering.hpp"

namespace muster {

class BackupTasks {
 public:
  /// `batches`: of the step at hand.
  BackupTasks(const ReplicaContext& context, const BatchGathering& batches)
      : context_(context), batches_(batches) {}

  void on(const RunBackupTask& message);
  /// Whether the item is of another replica's shard: for the task at hand, or for one that is given up.
  bool take(const Item& item);
  /// The gradients of a task: they are contributed, unless the task was given up.
  void computed(const Computed& message);
  void give_up() { queue_.give_up(); }

 private:
  void ask();

  const ReplicaContext& context_;
  const BatchGathering& batches_;
  BackupQueue queue_;
};

}  // namespace muster
