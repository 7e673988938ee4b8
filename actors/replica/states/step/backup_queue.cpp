#include "actors/replica/states/step/backup_queue.hpp"

#include <algorithm>
#include <utility>

namespace muster {

bool BackupQueue::add(const RunBackupTask& task) {
  tasks_.push_back(task);
  if (tasks_.size() > 1) return false;
  begin();
  return true;
}

void BackupQueue::begin() {
  items_.assign(tasks_.front().end - tasks_.front().begin, std::nullopt);
}

std::optional<std::vector<Item>> BackupQueue::take(const Item& item) {
  const RunBackupTask* const task = current();
  if (!task || item.shard < task->begin || item.shard >= task->end) return std::nullopt;
  auto& place = items_[item.shard - task->begin];
  if (place) return std::nullopt;
  place = item;
  if (!std::all_of(items_.begin(), items_.end(), [](const auto& each) { return each.has_value(); }))
    return std::nullopt;
  std::vector<Item> items;
  items.reserve(items_.size());
  for (auto& each : items_) items.push_back(std::move(*each));
  return items;
}

bool BackupQueue::next() {
  tasks_.pop_front();
  if (tasks_.empty()) return false;
  begin();
  return true;
}

}  // namespace muster
