#include "actors/coordinator/facts/run_facts.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/coordinator/running_job.hpp"

namespace muster {
namespace {

Heartbeat heartbeat_of(const NodeName& who, std::uint64_t step) {
  Heartbeat message;
  message.name = who;
  message.step = step;
  message.samples = 10 * step;
  return message;
}

TEST(RunFacts, AViewIsInForceUntilTheRunEndsOrTheViewIsClosed) {
  RunningJob job(2);
  EXPECT_TRUE(job.run.in_force());
  job.run.phase = CoordinatorPhase::closing;
  EXPECT_FALSE(job.run.in_force());
  job.run.phase = CoordinatorPhase::running;
  job.run.end.keep_state("interrupted", "", {});
  EXPECT_FALSE(job.run.in_force());
}

TEST(RunFacts, AViewThatReadsACheckpointGoesBackUntilItsFirstStep) {
  RunningJob job(2);
  job.run.took_effect = false;
  EXPECT_FALSE(job.run.is_going_back()) << "its members hold the state";
  job.run.view.back = true;
  EXPECT_TRUE(job.run.is_going_back());
  job.run.took_effect = true;
  EXPECT_FALSE(job.run.is_going_back());
}

TEST(RunFacts, StepsCountOfWhoLives) {
  RunningJob job(2);
  job.run.report.steps = 3;
  EXPECT_EQ(job.run.steps_done(), 3u);
  job.membership().heard(heartbeat_of(kReplica1, 7));
  EXPECT_EQ(job.run.steps_done(), 7u);
  job.membership().lost(kReplica1);
  EXPECT_EQ(job.run.steps_done(), 3u) << "others may do them again";
}

TEST(RunFacts, WhoWasNotReadyForTheFirstViewComesLater) {
  RunningJob job(2);
  job.run.begun = false;
  EXPECT_FALSE(job.run.comes_later(kReplica1));
  EXPECT_TRUE(job.run.comes_later({false, 5}));
  job.run.view = View{};
  EXPECT_FALSE(job.run.comes_later({false, 5})) << "no view is made";
}

TEST(RunFacts, TheFirstViewThatWaitsForItsJournalCountsAsMade) {
  RunningJob job(2);
  job.run.begun = false;
  const View made = std::exchange(job.run.view, View{});
  job.run.phase = CoordinatorPhase::noting;
  job.run.pending.make_at(made, {});
  EXPECT_FALSE(job.run.comes_later(kReplica1));
  EXPECT_TRUE(job.run.comes_later({false, 5}));
}

TEST(RunFacts, MembersCanBeSparedOnlyIfTheJobSaysSo) {
  RunningJob job(2);
  job.run.setup.job.cluster.on_loss = OnLoss::go_on;
  EXPECT_TRUE(job.run.goes_on_without(kReplica1));
  job.run.setup.job.cluster.on_loss = OnLoss::fail;
  EXPECT_FALSE(job.run.goes_on_without(kReplica1));
  EXPECT_TRUE(job.run.goes_on_without(newcomer(job.membership()))) << "it is no member";
  job.run.end.keep_state("interrupted", "", {});
  EXPECT_TRUE(job.run.goes_on_without(kReplica1)) << "the run ends anyway";
}

TEST(RunFacts, BeforeTheFirstViewNobodyCanBeSpared) {
  RunningJob job(2);
  job.run.begun = false;
  EXPECT_FALSE(job.run.goes_on_without(kReplica1));
}

}  // namespace
}  // namespace muster
