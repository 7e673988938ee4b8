#include "actors/coordinator/views/epoch_reports.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/coordinator/part_test.hpp"

namespace muster {
namespace {

// Of four steps and forty samples each.
EpochEnd epoch_of(std::uint32_t slot, std::uint64_t epoch) {
  EpochEnd row;
  row.slot = slot;
  row.epoch = epoch;
  row.complete = true;
  row.steps = 4 * epoch;
  row.samples = 40 * epoch;
  row.used = 40;
  row.train_loss = 0.5;
  row.view = 1;
  return row;
}

ReplicaDone done_of(std::uint32_t slot) {
  ReplicaDone done;
  done.slot = slot;
  done.steps = 8;
  done.samples = 80;
  done.state_sha256 = "ff";
  return done;
}

// Two replicas and a loader train in view 1.
class EpochReportsTest : public PartTest {
 protected:
  EpochReportsTest() : PartTest(std::make_unique<RunningJob>(2, 1)) {}

  void ends(std::uint32_t slot, std::uint64_t epoch) { reports_.on(epoch_of(slot, epoch)); }

  EpochReports reports_{job_.run, job_.checkpoints, port_, actions_};
};

TEST_F(EpochReportsTest, AnEpochCountsWhenAllMembersHaveReportedIt) {
  ends(0, 1);
  EXPECT_EQ(log_.all, PartTexts{});
  ends(1, 1);
  ASSERT_EQ(log_.all, PartTexts{"event epoch"});
  EXPECT_EQ(port_.events[0].integer("epoch"), 1);
  EXPECT_EQ(port_.events[0].integer("steps"), 4);
  EXPECT_EQ(port_.events[0].integer("samples"), 40);
  EXPECT_EQ(port_.events[0].integer("used"), 40);
  EXPECT_EQ(port_.events[0].number("loss"), 0.5);
  EXPECT_EQ(job_.run.report.steps, 4u);
  EXPECT_EQ(job_.run.report.samples, 40u);
}

TEST_F(EpochReportsTest, AnEpochCountsOnce) {
  ends(0, 1);
  ends(1, 1);
  ends(0, 1);
  ends(1, 1);
  EXPECT_EQ(log_.all, PartTexts{"event epoch"});
  EXPECT_TRUE(job_.run.epochs.open().empty());
}

TEST_F(EpochReportsTest, TheReportNeverFallsBehindWhatWasHeard) {
  job_.run.report.steps = 6;
  job_.run.report.samples = 60;
  ends(0, 1);
  ends(1, 1);
  EXPECT_EQ(job_.run.report.steps, 6u);
  EXPECT_EQ(job_.run.report.samples, 60u);
}

TEST_F(EpochReportsTest, AnEvaluationIsToldBehindItsEpoch) {
  for (const std::uint32_t slot : {0, 1}) {
    EpochEnd row = epoch_of(slot, 1);
    row.evaluated = true;
    row.loss = 0.25;
    row.accuracy = 0.75;
    reports_.on(row);
  }
  ASSERT_EQ(log_.all, (PartTexts{"event epoch", "event evaluated"}));
  EXPECT_EQ(port_.events[1].number("loss"), 0.25);
  EXPECT_EQ(port_.events[1].number("accuracy"), 0.75);
}

TEST_F(EpochReportsTest, AMemberThatIsLostIsNotWaitedFor) {
  job_.membership().lost(kReplica1);
  ends(0, 1);
  EXPECT_EQ(log_.all, PartTexts{"event epoch"});
}

TEST_F(EpochReportsTest, EpochsThatOnlyLostMembersLackCountWithTheNextView) {
  ends(0, 1);
  job_.membership().lost(kReplica1);
  reports_.count_open();
  EXPECT_EQ(log_.all, PartTexts{"event epoch"});
}

TEST_F(EpochReportsTest, AnEpochThatAMemberOwesStaysOpen) {
  ends(0, 1);
  reports_.count_open();
  EXPECT_EQ(log_.all, PartTexts{});
}

TEST_F(EpochReportsTest, WhatALostReplicaSaysCountsNoMore) {
  job_.membership().lost(kReplica1);
  ends(1, 1);
  EXPECT_EQ(log_.all, PartTexts{});
  EXPECT_TRUE(job_.run.epochs.open().empty());
}

TEST_F(EpochReportsTest, ReportsOfAViewBeforeTheRunWentBackCountNoMore) {
  job_.checkpoints.back_in = 2;
  ends(0, 1);
  EXPECT_TRUE(job_.run.epochs.open().empty());
  job_.checkpoints.back_in = 1;
  ends(0, 1);
  EXPECT_FALSE(job_.run.epochs.open().empty());
}

TEST_F(EpochReportsTest, NothingCountsBehindTheEnd) {
  job_.run.end.decide(port_.now());
  ends(0, 1);
  EXPECT_TRUE(job_.run.epochs.open().empty());
}

TEST_F(EpochReportsTest, ARestartedCoordinatorCountsWhenItsMembersAreBack) {
  job_.run.phase = CoordinatorPhase::adopting;
  ends(0, 1);
  ends(1, 1);
  EXPECT_EQ(log_.all, PartTexts{});
  job_.run.phase = CoordinatorPhase::running;
  reports_.count_open();
  EXPECT_EQ(log_.all, PartTexts{"event epoch"});
}

TEST_F(EpochReportsTest, ReplicasThatDifferEndTheRunBehindTheEventThatSaysWho) {
  ends(0, 1);
  EpochEnd other = epoch_of(1, 1);
  ++other.missed;
  reports_.on(other);
  EXPECT_EQ(log_.all, (PartTexts{"event diverged",
                                 "fail: diverged: the ledger or evaluation of epoch 1 of replica 0 and of "
                                 "replica 1 differ"}));
}

// --- the end of the training

TEST_F(EpochReportsTest, TheRunIsCompletedWhenAllReplicasAreDone) {
  reports_.on(done_of(0));
  EXPECT_EQ(log_.all, PartTexts{});
  reports_.on(done_of(1));
  EXPECT_EQ(log_.all, PartTexts{"conclude: completed"});
  EXPECT_EQ(job_.run.report.steps, 8u);
  EXPECT_EQ(job_.run.report.samples, 80u);
  EXPECT_EQ(job_.run.report.weights_sha256, "ff");
}

TEST_F(EpochReportsTest, WhatAReplicaSaysOfItselfIsInTheReport) {
  ReplicaDone done = done_of(1);
  done.phases.wait_for_batch_s = 3;
  done.algorithm = "direct";
  done.note = "note";
  done.checkpoint = "weights.safetensors";
  reports_.on(done);
  EXPECT_EQ(job_.run.report.phases.at(1).wait_for_batch_s, 3);
  EXPECT_EQ(job_.run.report.traffic.count(1), 1u);
  EXPECT_EQ(job_.run.report.algorithm, "direct");
  EXPECT_EQ(job_.run.report.notes.at(1), "note");
  EXPECT_EQ(job_.run.report.checkpoint, "weights.safetensors");
  reports_.on(done_of(0));
  EXPECT_EQ(job_.run.report.notes.count(0), 0u) << "it has none";
  EXPECT_EQ(job_.run.report.checkpoint, "weights.safetensors") << "the other one wrote it";
}

TEST_F(EpochReportsTest, ADoneReplicaBringsItsEpochs) {
  for (const std::uint32_t slot : {0, 1}) {
    ReplicaDone done = done_of(slot);
    done.epochs = {epoch_of(slot, 1), epoch_of(slot, 2)};
    reports_.on(done);
  }
  EXPECT_EQ(log_.all, (PartTexts{"event epoch", "event epoch", "conclude: completed"}));
}

TEST_F(EpochReportsTest, EpochsOfADoneReplicaThatDifferEndTheRun) {
  ends(1, 1);
  ReplicaDone done = done_of(0);
  done.epochs = {epoch_of(0, 1)};
  ++done.epochs[0].missed;
  actions_.then = [this](const std::string&) { job_.run.end.decide(port_.now()); };
  reports_.on(done);
  EXPECT_EQ(log_.all.size(), 2u);
  EXPECT_EQ(log_.all[0], "event diverged");
  EXPECT_NE(job_.membership().at(kReplica0).stage, NodeStage::done) << "the run has ended before";
}

TEST_F(EpochReportsTest, OpenEpochsCountBeforeTheRunIsCompleted) {
  ends(0, 1);
  reports_.on(done_of(0));
  reports_.on(done_of(1));
  EXPECT_EQ(log_.all, (PartTexts{"event epoch", "conclude: completed"}));
}

TEST_F(EpochReportsTest, AnEpochOfWhichNobodyTellsAnyMoreDoesNotCount) {
  ends(1, 1);
  job_.run.epochs.forget(1);
  reports_.on(done_of(0));
  reports_.on(done_of(1));
  EXPECT_EQ(log_.all, PartTexts{"conclude: completed"});
}

TEST_F(EpochReportsTest, ThatTheDataEndedBeforeTheStepsIsSaidBeforeTheEnd) {
  for (const std::uint32_t slot : {0, 1}) {
    ReplicaDone done = done_of(slot);
    done.steps_asked = 10;
    reports_.on(done);
  }
  ASSERT_EQ(log_.all, (PartTexts{"event exhausted", "conclude: completed"}));
  EXPECT_EQ(port_.events[0].integer("asked"), 10);
  EXPECT_EQ(port_.events[0].integer("had"), 8);
}

TEST_F(EpochReportsTest, ReplicasThatEndWithOtherWeightsHaveDiverged) {
  reports_.on(done_of(0));
  ReplicaDone other = done_of(1);
  other.state_sha256 = "ee";
  reports_.on(other);
  ASSERT_EQ(log_.all.size(), 2u);
  EXPECT_EQ(log_.all[0], "event diverged");
  EXPECT_EQ(log_.all[1].find("fail: diverged: replica 1 ends step 8 with weights ee"), 0u);
}

TEST_F(EpochReportsTest, OnlyMembersOfAViewInForceAreDone) {
  job_.run.phase = CoordinatorPhase::closing;
  reports_.on(done_of(0));
  EXPECT_NE(job_.membership().at(kReplica0).stage, NodeStage::done) << "it says so again in the next view";
  job_.run.phase = CoordinatorPhase::running;
  reports_.on(done_of(2));
  EXPECT_EQ(job_.membership().find(kReplica2), nullptr) << "no member";
  job_.run.end.decide(port_.now());
  reports_.on(done_of(0));
  EXPECT_NE(job_.membership().at(kReplica0).stage, NodeStage::done);
}

TEST_F(EpochReportsTest, TrainingEndsWhenTheLastReplicaIsDone) {
  job_.run.training.begin(port_.now());
  port_.time += std::chrono::seconds(3);
  reports_.on(done_of(0));
  port_.time += std::chrono::seconds(2);
  reports_.on(done_of(1));
  const auto summary = job_.run.training.sum_up(80, 0, 0);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->seconds, 5);
}

}  // namespace
}  // namespace muster
