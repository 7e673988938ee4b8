#include "actors/coordinator/facts/run_standing.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/coordinator/running_job.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
using StateAndDetail = std::pair<std::string, std::string>;

// Before the first view: so many replicas of two have come.
struct FormingJob {
  explicit FormingJob(std::uint32_t here) {
    run.setup.job = job_of(2, 0);
    run.membership = std::make_unique<Membership>(run.setup.job);
    for (std::uint32_t slot = 0; slot < here; ++slot)
      run.membership->admission().join(join_of({false, slot}));
  }
  RunFacts run;
};

void hear_of(RunFacts& run, const NodeName& who, std::uint64_t step) {
  Heartbeat message;
  message.name = who;
  message.step = step;
  message.samples = 10 * step;
  run.membership->heard(message);
}

TEST(RunStanding, SaysWhoIsWaitedForBeforeTheFirstView) {
  EXPECT_EQ(whom_it_waits_for(FormingJob(1).run), "1 of 2 replicas is here");
  EXPECT_EQ(whom_it_waits_for(FormingJob(2).run), "2 of 2 replicas are here");
  EXPECT_EQ(how_it_stands(FormingJob(1).run),
            StateAndDetail("waiting", "for nodes: 1 of 2 replicas is here"));
  EXPECT_EQ(how_it_stands(FormingJob(2).run),
            StateAndDetail("waiting", "for replica 0, replica 1 to be ready"));
  EXPECT_EQ(whom_it_waits_for(RunningJob(2).run), "") << "the run has begun";
}

TEST(RunStanding, NamesThePhase) {
  RunningJob job(2);
  EXPECT_EQ(how_it_stands(job.run).first, "training");
  job.run.phase = CoordinatorPhase::closing;
  EXPECT_EQ(how_it_stands(job.run).first, "changing view");
  job.run.phase = CoordinatorPhase::noting;
  EXPECT_EQ(how_it_stands(job.run), StateAndDetail("paused", "the journal cannot be written"));
  job.run.phase = CoordinatorPhase::paused;
  job.run.recovery.pause("1 more replica", {});
  EXPECT_EQ(how_it_stands(job.run), StateAndDetail("paused", "waits for 1 more replica"));
}

TEST(RunStanding, AnEndCountsMoreThanThePhase) {
  RunningJob job(2);
  job.run.end.keep_state("interrupted", "told to end", {});
  EXPECT_EQ(how_it_stands(job.run), StateAndDetail("ending", "told to end: a last checkpoint is written"));
  job.run.end.decide({});
  job.run.report.outcome = "interrupted";
  job.run.report.reason = "told to end";
  EXPECT_EQ(how_it_stands(job.run), StateAndDetail("interrupted", "told to end"));
}

TEST(RunStanding, NamesWhoStandsStill) {
  RunningJob job(2);
  Heartbeat message;
  message.name = kReplica1;
  message.step = 16;
  message.call = static_cast<std::uint32_t>(ThreadCall::Kind::computes);
  message.call_shard = 3;
  message.call_step = 17;
  message.call_ms = 900000;
  job.membership().heard(message);
  EXPECT_EQ(how_it_stands(job.run),
            StateAndDetail("training", "replica 1 has been computing shard 3 of step 17 for 900000 ms"));
}

TEST(RunStanding, HeartbeatsCountMoreThanReportsButNotForSuspectSteps) {
  RunningJob job(2);
  job.run.report.steps = 4;
  job.run.report.samples = 40;
  EXPECT_EQ(heard_of(job.run, job.checkpoints).steps, 4u);
  hear_of(job.run, kReplica1, 6);
  EXPECT_EQ(heard_of(job.run, job.checkpoints).steps, 6u);
  EXPECT_EQ(heard_of(job.run, job.checkpoints).samples, 60u);
  job.checkpoints.suspects.suspect(5);
  EXPECT_EQ(heard_of(job.run, job.checkpoints).steps, 4u);
}

TEST(RunStanding, TheStatusListsTheNodesThatHaveCome) {
  RunningJob job(2, 1);
  const NodeName third = newcomer(job.membership());
  job.membership().lost(kLoader0);
  job.membership().leaving(kReplica0);
  job.run.away.insert(kReplica1);
  hear_of(job.run, kReplica1, 6);
  const RunStatus status = status_of(job.run, job.checkpoints, 2500ms);
  EXPECT_EQ(status.elapsed_s, 2.5);
  EXPECT_EQ(status.view, job.run.view.number);
  EXPECT_EQ(status.step, 6u);
  ASSERT_EQ(status.nodes.size(), 3u) << "who is lost is not listed";
  EXPECT_EQ(status.nodes[0].state, "leaves");
  EXPECT_EQ(status.nodes[1].state, "away");
  EXPECT_EQ(status.nodes[2].name, third);
  EXPECT_EQ(status.nodes[2].state, "newcomer");
}

}  // namespace
}  // namespace muster
