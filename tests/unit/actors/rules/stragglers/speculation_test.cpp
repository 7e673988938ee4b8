#include <gtest/gtest.h>

#include <set>

#include "actors/rules/stragglers/speculation.hpp"

namespace muster {
namespace {

using BackupTasks = std::vector<BackupTask>;

TEST(AssignBackupTasks, AnAlignedIntervalIsOneBackupTaskForTheFastestHelper) {
  EXPECT_EQ(assign_backup_tasks(8, {{2, 4, 6}}, {{0, 0.2}, {1, 0.1}, {3, 0.3}}),
            (BackupTasks{{1, 2, 6, 4, 6}}));
  EXPECT_EQ(assign_backup_tasks(8, {{2, 4, 6}}, {{3, 0.1}, {0, 0.1}}), (BackupTasks{{0, 2, 6, 4, 6}}))
      << "the lower slot";
}

TEST(AssignBackupTasks, NobodyHelpsWhereNobodyIsIdle) {
  EXPECT_TRUE(assign_backup_tasks(8, {{2, 4, 6}}, {}).empty());
  EXPECT_TRUE(assign_backup_tasks(8, {{2, 4, 6}}, {{2, 0.1}}).empty()) << "who is late is no helper";
  EXPECT_TRUE(assign_backup_tasks(8, {}, {{1, 0.1}}).empty());
}

TEST(AssignBackupTasks, SeveralNodesGoToSeveralHelpersTheLargestFirst) {
  // [1, 7) of 8: nodes of 2, 2, 1 and 1 shards.
  const auto backup_tasks = assign_backup_tasks(8, {{2, 1, 7}}, {{0, 1}, {1, 1}});
  EXPECT_EQ(backup_tasks, (BackupTasks{{0, 2, 5, 2, 4}, {1, 2, 6, 4, 6}, {0, 2, 9, 1, 2}, {1, 2, 14, 6, 7}}));
}

TEST(AssignBackupTasks, ASlowHelperGetsWhatItIsThroughWithInTime) {
  const auto backup_tasks = assign_backup_tasks(8, {{2, 1, 7}}, {{0, 1}, {1, 10}});
  for (const BackupTask& backup_task : backup_tasks) EXPECT_EQ(backup_task.helper, 0u);
  EXPECT_EQ(backup_tasks.size(), 4u);
}

TEST(AssignBackupTasks, UnknownSpeedsAreTakenForTheSlowest) {
  EXPECT_EQ(assign_backup_tasks(4, {{2, 2, 3}}, {{0, 0}, {1, 0.5}, {3, 0.4}}).at(0).helper, 3u);
  EXPECT_EQ(assign_backup_tasks(4, {{2, 2, 3}}, {{0, 0}, {1, 0}}).at(0).helper, 0u);
}

TEST(AssignBackupTasks, EveryLateShardIsInExactlyOneBackupTask) {
  std::multiset<std::uint32_t> covered;
  for (const BackupTask& backup_task : assign_backup_tasks(13, {{0, 0, 5}, {2, 9, 13}}, {{1, 1}, {3, 2}})) {
    EXPECT_TRUE(backup_task.helper == 1 || backup_task.helper == 3);
    EXPECT_EQ(backup_task.instead_of, backup_task.begin < 5 ? 0u : 2u);
    for (std::uint32_t shard = backup_task.begin; shard < backup_task.end; ++shard) covered.insert(shard);
  }
  EXPECT_EQ(covered, (std::multiset<std::uint32_t>{0, 1, 2, 3, 4, 9, 10, 11, 12}));
}

}  // namespace
}  // namespace muster
