#include "actors/replica/duties/backup_tasks.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/replica/duties/duty_context.hpp"

namespace muster::backup_tasks_test {
namespace {

using testing::DutyContext;
using testing::item_with_rows;
using testing::last_as;

constexpr NodeId kNode = 7;

RunBackupTask task_for(std::uint64_t round) {
  RunBackupTask task;
  task.view = 5;
  task.round = round;
  task.node = kNode;
  task.begin = 4;
  task.end = 6;
  task.shards.resize(2);
  return task;
}

Computed gradients_of(NodeId node) {
  Computed computed;
  computed.backup_task = node;
  for (const NodeId each : {NodeId{6}, node}) {
    NodeValue value;
    value.node = each;
    computed.nodes.push_back(value);
  }
  return computed;
}

class WaitingReplica : public ::testing::Test {
 protected:
  WaitingReplica() {
    batches_.enter(2, 4);
    batches_.begin(Cursor{});
  }

  DutyContext replica_;
  BatchGathering batches_;
  BackupTasks tasks_{replica_.context, batches_};
};

TEST_F(WaitingReplica, ComputesTheTaskAndContributesItsNodeAlone) {
  tasks_.on(task_for(1));
  EXPECT_EQ(replica_.sent.shards.size(), 2u) << "the batches of both shards are asked for";
  EXPECT_FALSE(tasks_.take(item_with_rows(2, 1))) << "a shard of its own";
  EXPECT_TRUE(tasks_.take(item_with_rows(4, 1)));
  EXPECT_EQ(replica_.jobs->size(), 0u);
  EXPECT_TRUE(tasks_.take(item_with_rows(5, 1)));
  EXPECT_EQ(replica_.jobs->size(), 1u);
  tasks_.computed(gradients_of(kNode));
  ASSERT_EQ(replica_.sent.reducer.size(), 1u);
  const auto& contribution = std::get<Contribute>(replica_.sent.reducer[0]);
  EXPECT_EQ(contribution.backup_task, kNode);
  ASSERT_EQ(contribution.nodes.size(), 1u);
  EXPECT_EQ(contribution.nodes[0].node, kNode);
}

TEST_F(WaitingReplica, ATaskThatIsGivenUpContributesNothing) {
  tasks_.on(task_for(1));
  tasks_.give_up();
  EXPECT_TRUE(tasks_.take(item_with_rows(4, 1))) << "it is of no shard of this replica";
  tasks_.computed(gradients_of(kNode));
  EXPECT_TRUE(replica_.sent.reducer.empty());
}

TEST_F(WaitingReplica, TheNextTaskBeginsWhenTheFirstOneIsDone) {
  tasks_.on(task_for(1));
  tasks_.on(task_for(1));
  EXPECT_EQ(replica_.sent.shards.size(), 2u);
  tasks_.computed(gradients_of(kNode));
  EXPECT_EQ(replica_.sent.shards.size(), 4u);
}

TEST_F(WaitingReplica, TasksOfAnotherRoundOrModeAreIgnored) {
  tasks_.on(task_for(2));
  replica_.context.phase.record_taken();
  tasks_.on(task_for(1));
  replica_.context.phase.record_applied();
  batches_.begin(Cursor{Mode::evaluate, 1, 0});
  tasks_.on(task_for(1));
  batches_.begin(Cursor{});
  replica_.context.phase.halt();
  tasks_.on(task_for(1));
  EXPECT_TRUE(replica_.sent.shards.empty());
}

}  // namespace
}  // namespace muster::backup_tasks_test
