// The backup tasks of a replica: tree nodes of late replicas that it computes, too, while it waits for them.
// One after the other; each needs the micro-batches of its shards first. Given up as soon as the round is
// over. Pure. For one thread at a time.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "actors/messages/item.hpp"
#include "actors/messages/step_messages.hpp"

namespace muster {

class BackupQueue {
 public:
  void give_up() { tasks_.clear(); }
  /// Whether the task begins now; else it waits for those before it.
  bool add(const RunBackupTask& task);
  /// The task whose data are asked for, or that is computed; null: none.
  const RunBackupTask* current() const { return tasks_.empty() ? nullptr : &tasks_.front(); }
  /// Whether the task for this tree node is the current one.
  bool computes(NodeId node) const { return !tasks_.empty() && tasks_.front().node == node; }
  /// An item for a shard of another replica, at the step that is under way. Returns the items of the current
  /// task, ascending by shard, when this was the last one that it needs.
  std::optional<std::vector<Item>> take(const Item& item);
  /// The current task is done. Whether another one begins now.
  bool next();

 private:
  void begin();

  std::deque<RunBackupTask> tasks_;
  std::vector<std::optional<Item>> items_;  // of the first one
};

}  // namespace muster
