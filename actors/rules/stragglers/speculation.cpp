#include "actors/rules/stragglers/speculation.hpp"

#include <algorithm>

namespace muster {

namespace {

std::vector<BackupTask> nodes_of(std::uint32_t shards, const std::vector<LateReplica>& late) {
  const unsigned height = tree_height(shards);
  std::vector<BackupTask> backup_tasks;
  for (const LateReplica& replica : late) {
    for (const NodeId node : cover(height, replica.begin, replica.end)) {
      const LeafInterval leaves = leaves_below(height, node);
      backup_tasks.push_back({0, replica.slot, node, leaves.begin, std::min(leaves.end, shards)});
    }
  }
  std::sort(backup_tasks.begin(), backup_tasks.end(), [](const BackupTask& a, const BackupTask& b) {
    const auto size_a = a.end - a.begin, size_b = b.end - b.begin;
    return size_a != size_b ? size_a > size_b : a.begin < b.begin;
  });
  return backup_tasks;
}

}  // namespace

std::vector<BackupTask> assign_backup_tasks(std::uint32_t shards, const std::vector<LateReplica>& late,
                                            std::vector<Helper> helpers) {
  std::erase_if(helpers, [&](const Helper& helper) {
    return std::any_of(late.begin(), late.end(),
                       [&](const LateReplica& replica) { return replica.slot == helper.slot; });
  });
  if (helpers.empty()) return {};
  std::sort(helpers.begin(), helpers.end(), [](const Helper& a, const Helper& b) { return a.slot < b.slot; });
  double most = 0;  // who is not known is taken for the slowest of those who are
  for (const Helper& helper : helpers) most = std::max(most, helper.seconds_per_shard);
  const auto speed = [&](const Helper& helper) {
    return helper.seconds_per_shard > 0 ? helper.seconds_per_shard : most > 0 ? most : 1.0;
  };
  std::vector<BackupTask> backup_tasks = nodes_of(shards, late);
  std::vector<double> busy(helpers.size(), 0);
  for (BackupTask& backup_task : backup_tasks) {
    const auto through = [&](std::size_t h) {
      return busy[h] + (backup_task.end - backup_task.begin) * speed(helpers[h]);
    };
    std::size_t best = 0;
    for (std::size_t h = 1; h < helpers.size(); ++h) {
      if (through(h) < through(best)) best = h;
    }
    busy[best] = through(best);
    backup_task.helper = helpers[best].slot;
  }
  return backup_tasks;
}

}  // namespace muster
