#include "actors/replica/states/step/backup_queue.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

RunBackupTask task_for(NodeId node, std::uint32_t begin, std::uint32_t end) {
  return RunBackupTask{1, 1, node, begin, end, {}};
}

Item item_of(std::uint32_t shard, std::uint64_t first = 0) {
  Item item;
  item.shard = shard;
  item.range.first = first;
  return item;
}

TEST(BackupQueue, ATaskIsReadyWhenAllItsItemsAreThere) {
  BackupQueue queue;
  EXPECT_EQ(queue.current(), nullptr);
  EXPECT_TRUE(queue.add(task_for(7, 2, 4)));
  ASSERT_NE(queue.current(), nullptr);
  EXPECT_EQ(queue.current()->node, 7u);
  EXPECT_FALSE(queue.take(item_of(3)));
  EXPECT_FALSE(queue.take(item_of(1))) << "of no shard of the task";
  EXPECT_FALSE(queue.take(item_of(4)));
  const auto items = queue.take(item_of(2));
  ASSERT_TRUE(items);
  ASSERT_EQ(items->size(), 2u);
  EXPECT_EQ((*items)[0].shard, 2u);
  EXPECT_EQ((*items)[1].shard, 3u);
}

TEST(BackupQueue, AnItemCountsOnce) {
  BackupQueue queue;
  queue.add(task_for(7, 2, 4));
  EXPECT_FALSE(queue.take(item_of(2, 10)));
  EXPECT_FALSE(queue.take(item_of(2, 20)));
  const auto items = queue.take(item_of(3));
  ASSERT_TRUE(items);
  EXPECT_EQ((*items)[0].range.first, 10u);
  EXPECT_FALSE(queue.take(item_of(3))) << "the task is computed already";
}

TEST(BackupQueue, TasksFollowEachOther) {
  BackupQueue queue;
  EXPECT_TRUE(queue.add(task_for(7, 2, 3)));
  EXPECT_FALSE(queue.add(task_for(9, 4, 5)));
  EXPECT_TRUE(queue.computes(7));
  EXPECT_FALSE(queue.computes(9));
  EXPECT_FALSE(queue.take(item_of(4))) << "of a task that has not begun";
  EXPECT_TRUE(queue.take(item_of(2)));
  EXPECT_TRUE(queue.next());
  EXPECT_TRUE(queue.computes(9));
  EXPECT_TRUE(queue.take(item_of(4)));
  EXPECT_FALSE(queue.next());
  EXPECT_EQ(queue.current(), nullptr);
}

TEST(BackupQueue, NothingIsTakenAfterItGivesUp) {
  BackupQueue queue;
  queue.add(task_for(7, 2, 3));
  queue.add(task_for(9, 4, 5));
  queue.give_up();
  EXPECT_EQ(queue.current(), nullptr);
  EXPECT_FALSE(queue.computes(7));
  EXPECT_FALSE(queue.take(item_of(2)));
  EXPECT_TRUE(queue.add(task_for(9, 4, 5))) << "the next round begins anew";
}

}  // namespace
}  // namespace muster
