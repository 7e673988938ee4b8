#include "actors/coordinator/run_ending.hpp"

#include <gtest/gtest.h>

#include "tests/support/idle_nodes.hpp"
#include "tests/unit/actors/coordinator/part_test.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

// Two replicas train in view 1. Whoever listens to the run is in the log, too: "concluded" when the outcome
// is known, "report" when the run is over.
class RunEndingTest : public PartTest {
 protected:
  RunEndingTest() : PartTest(std::make_unique<RunningJob>(2)) {
    has_a_journal();
    job_.run.setup.on_conclude = [this] { log_.add("concluded"); };
    job_.run.setup.on_end = [this](const Report&) { log_.add("report"); };
    for (const NodeName& who : {kReplica0, kReplica1}) {
      connections_.connect(who, nodes_.add());
      job_.run.watch->came(who, port_.elapsed());
    }
    log_.all.clear();
  }
  void has_a_folder() { job_.run.setup.job.checkpoint.folder = "folder"; }
  void all_go() {
    for (const NodeName& who : {kReplica0, kReplica1}) job_.membership().left(who);
  }
  Checkpointed last_checkpoint() const {
    Checkpointed report;
    report.manifest = "tiny-4";
    report.path = "folder/tiny-4";
    report.records = report.step = 4;
    report.view = job_.run.view.number;
    return report;
  }

  testing::IdleNodes nodes_;
  RunEnding ending_{job_.run, job_.checkpoints, {keeper_, suspects_, rollback_, arrivals_}, port_, actions_};
};

// --- the outcome

TEST_F(RunEndingTest, TheOutcomeIsInTheJournalBeforeNodesHearOfIt) {
  ending_.conclude("completed", "");
  EXPECT_EQ(log_.all, (PartTexts{"concluded", "journal view 1", "Stop to replica 0", "Stop to replica 1"}));
  EXPECT_TRUE(journal_->entry->completed);
  EXPECT_FALSE(journal_->entry->ended) << "they have not heard it yet";
  EXPECT_TRUE(port_.sent_to<Stop>(kReplica0)[0].good);
}

TEST_F(RunEndingTest, WhyARunFailsIsSaidBeforeItsNodesEnd) {
  ending_.fail("it cannot go on");
  EXPECT_EQ(log_.all, (PartTexts{"event failed", "concluded", "journal view 1", "Stop to replica 0",
                                 "Stop to replica 1"}));
  EXPECT_FALSE(port_.sent_to<Stop>(kReplica0)[0].good);
  EXPECT_EQ(port_.sent_to<Stop>(kReplica0)[0].reason, "it cannot go on");
}

TEST_F(RunEndingTest, AnOutcomeIsDecidedOnce) {
  ending_.fail("one");
  log_.all.clear();
  ending_.fail("another");
  EXPECT_EQ(log_.all, PartTexts{});
  EXPECT_EQ(job_.run.report.reason, "one");
}

TEST_F(RunEndingTest, NodesEndThoughTheJournalLacksTheOutcome) {
  journal_->full = true;
  ending_.conclude("completed", "");
  EXPECT_EQ(log_.all, (PartTexts{"concluded", "event notice", "Stop to replica 0", "Stop to replica 1"}));
}

TEST_F(RunEndingTest, OneThatIsTakenOverTellsNobody) {
  journal_->taken = true;
  ending_.conclude("completed", "");
  EXPECT_TRUE(port_.sent.empty());
}

TEST_F(RunEndingTest, CallersAreRefusedBehindTheJournal) {
  job_.run.phase = CoordinatorPhase::adopting;
  connections_.caller = nodes_.add();
  Join join = join_of({false, 77});
  join.joins = true;
  arrivals_.on(join);
  ending_.fail("it cannot go on");
  EXPECT_EQ(log_.all, (PartTexts{"event failed", "concluded", "journal view 1", "event refused",
                                 "answer Stop", "Stop to replica 0", "Stop to replica 1"}));
}

// --- the end

TEST_F(RunEndingTest, TheReportIsWrittenBeforeTheJournalSaysThatTheRunHasEnded) {
  ending_.conclude("completed", "");
  all_go();
  log_.all.clear();
  ending_.finish();
  EXPECT_EQ(log_.all, (PartTexts{"event completed", "tell end", "report", "journal view 1"}));
  EXPECT_TRUE(journal_->entry->ended);
}

TEST_F(RunEndingTest, ARunEndsOnce) {
  ending_.conclude("completed", "");
  ending_.finish();
  log_.all.clear();
  ending_.finish();
  EXPECT_EQ(log_.all, PartTexts{});
}

TEST_F(RunEndingTest, ARunHasNotEndedForMembersThatMayLive) {
  ending_.conclude("interrupted", "");
  ending_.finish();
  EXPECT_FALSE(journal_->entry->ended);
  EXPECT_TRUE(job_.run.report.members_may_live);
}

TEST_F(RunEndingTest, WithoutAJournalAFailedRunWaitsForNobody) {
  job_.run.setup.journal = nullptr;
  ending_.fail("it cannot go on");
  EXPECT_EQ(log_.all, (PartTexts{"event failed", "concluded", "Stop to replica 0", "Stop to replica 1",
                                 "tell end", "report"}));
}

// --- a last checkpoint

TEST_F(RunEndingTest, ThatARunIsInterruptedIsSaidBeforeItsLastView) {
  has_a_folder();
  ending_.on(StopRequest{"SIGTERM"});
  EXPECT_EQ(log_.all, (PartTexts{"event interrupted", "close view"}));
  EXPECT_TRUE(job_.run.end.keeps_state());
  ending_.on(StopRequest{"SIGTERM"});
  EXPECT_EQ(log_.all[2], "event state_not_kept") << "told twice, it ends without a checkpoint";
}

TEST_F(RunEndingTest, WithoutAFolderAnInterruptedRunEndsAtOnce) {
  ending_.on(StopRequest{"SIGTERM"});
  EXPECT_EQ(log_.all, (PartTexts{"event interrupted", "concluded", "journal view 1", "Stop to replica 0",
                                 "Stop to replica 1"}));
}

TEST_F(RunEndingTest, ACheckpointIsReportedBeforeTheNodesEnd) {
  has_a_folder();
  ending_.keep_state("interrupted", "SIGTERM");
  job_.run.view.last = true;
  job_.run.view.records = 4;
  log_.all.clear();
  ending_.on(last_checkpoint());
  EXPECT_EQ(log_.all, (PartTexts{"event state_kept", "concluded", "journal view 1", "Stop to replica 0",
                                 "Stop to replica 1"}));
  EXPECT_EQ(job_.run.report.checkpoint, "folder/tiny-4");
}

TEST_F(RunEndingTest, AFailureThatKeptItsStateIsSaidBehindThat) {
  has_a_folder();
  ending_.keep_state("failed", "it cannot go on");
  job_.run.view.last = true;
  log_.all.clear();
  ending_.on(last_checkpoint());
  EXPECT_EQ(log_.all, (PartTexts{"event state_kept", "event failed", "concluded", "journal view 1",
                                 "Stop to replica 0", "Stop to replica 1"}));
  EXPECT_EQ(port_.events[1].text("reason"), "it cannot go on; the state is kept in folder/tiny-4");
}

TEST_F(RunEndingTest, ThatNoStateIsKeptIsSaidBeforeTheNodesEnd) {
  has_a_folder();
  ending_.keep_state("interrupted", "SIGTERM");
  log_.all.clear();
  job_.run.report.event_counts["state_not_kept"] = 1;  // the actor's port counts it
  ending_.not_kept("no member wrote one");
  EXPECT_EQ(log_.all, (PartTexts{"event state_not_kept", "concluded", "journal view 1", "Stop to replica 0",
                                 "Stop to replica 1"}));
  EXPECT_FALSE(port_.sent_to<Stop>(kReplica0)[0].good);
}

TEST_F(RunEndingTest, SuspectedStepsAreInTheJournalBeforeNodesHearOfTheEnd) {
  job_.checkpoints.suspects.doubt(3, {0, 1});
  ending_.fail("it cannot go on");
  EXPECT_EQ(log_.all, (PartTexts{"event failed", "journal view 1", "concluded", "journal view 1",
                                 "Stop to replica 0", "Stop to replica 1"}));
  EXPECT_EQ(journal_->entry->suspect_from, 3u);
  EXPECT_EQ(port_.sent_to<Stop>(kReplica0)[0].suspect_from, 3u);
}

}  // namespace
}  // namespace muster
