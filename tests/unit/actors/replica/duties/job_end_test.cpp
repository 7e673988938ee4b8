#include "actors/replica/duties/job_end.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/replica/duties/duty_context.hpp"

namespace muster::job_end_test {
namespace {

using testing::DutyContext;
using testing::last_as;
using testing::WaitingJobs;

struct Ending : DutyContext {
  PartExchange parts{context};
  WeightsComparison weights;
  CatchUp catch_up;
  StateReplacement replacement;
  StepTimes times;
  Checkpoints checkpoints{context, parts, weights, catch_up, replacement};
  JobEnd end{context, parts, checkpoints, times};
};

TEST(JobEnd, AReplicaThatDoesNotWriteHashesItsWeights) {
  Ending replica;
  replica.end.begin();
  EXPECT_EQ(replica.jobs->size(), 1u);
  replica.end.on(Hashed{1, "old", 0, {}});
  EXPECT_TRUE(replica.sent.node.empty()) << "another turn asked for it";
  replica.end.on(Hashed{0, "abc", 0, {}});
  const auto* done = last_as<ReplicaDone>(replica.sent.node);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->state_sha256, "abc");
  EXPECT_EQ(done->checkpoint, "");
}

TEST(JobEnd, AFailedHashIsTrouble) {
  Ending replica;
  replica.end.on(Hashed{0, {}, 0, "no"});
  EXPECT_TRUE(last_as<Trouble>(replica.sent.node));
}

TEST(JobEnd, ACheckpointThatIsWrittenAlreadyIsReportedAtOnce) {
  Job job;
  job.train.steps = 1;
  Ending replica;
  *replica.position = TrainingPosition(job, replica.context.setup.facts, 1);
  replica.take_records(1);
  replica.position->schedule().step_committed();
  Written written;
  written.view = 4;
  written.last = true;
  written.records = 1;
  written.path = "weights";
  (void)replica.checkpoints.on(written);
  replica.end.begin();
  const auto* done = last_as<ReplicaDone>(replica.sent.node);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->checkpoint, "weights");
  EXPECT_EQ(replica.jobs->size(), 0u);
}

TEST(JobEnd, ItIsReportedAgainUntilItIsForgotten) {
  Ending replica;
  replica.end.report_again();
  EXPECT_TRUE(replica.sent.node.empty());
  replica.end.report("abc", {});
  replica.end.report_again();
  EXPECT_EQ(replica.sent.node.size(), 2u);
  replica.context.phase.halt();
  replica.end.report_again();
  EXPECT_EQ(replica.sent.node.size(), 2u) << "the view is over";
  replica.context.phase.enter();
  (void)replica.context.phase.begin();
  replica.end.forget();
  replica.end.report_again();
  EXPECT_EQ(replica.sent.node.size(), 2u);
}

}  // namespace
}  // namespace muster::job_end_test
