#include "actors/coordinator/views/journal_keeper.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/coordinator/part_test.hpp"

namespace muster {
namespace {

class JournalKeeperTest : public PartTest {
 protected:
  JournalKeeperTest() : PartTest(std::make_unique<RunningJob>(2)) {
    has_a_journal();
    job_.run.setup.job.cluster.give_up_after = std::chrono::seconds(10);
    job_.run.term.set_writer(77);
  }
  void another_writes_in_the_same_term() {
    journal_->entry = JournalEntry{};
    journal_->entry->term = job_.run.term.number();
    journal_->entry->writer = 78;
  }
  View next_view() const {
    View view = job_.run.view;
    ++view.number;
    return view;
  }
};

TEST_F(JournalKeeperTest, WritesTheViewWithWhatASuccessorMustKnow) {
  job_.checkpoints.suspects.suspect(5);
  EXPECT_TRUE(keeper_.noted(next_view()));
  ASSERT_TRUE(journal_->entry);
  EXPECT_EQ(journal_->entry->view.number, job_.run.view.number + 1);
  EXPECT_EQ(journal_->entry->job_hash, "hash");
  EXPECT_EQ(journal_->entry->suspect_from, 5u);
  EXPECT_EQ(journal_->entry->writer, 77u);
  EXPECT_FALSE(journal_->entry->ended);
}

TEST_F(JournalKeeperTest, AViewThatGoesBackLeavesNoSuspectsBehind) {
  job_.checkpoints.suspects.suspect(5);
  View view = next_view();
  view.back = true;
  EXPECT_TRUE(keeper_.noted(view));
  EXPECT_EQ(journal_->entry->suspect_from, 0u);
}

TEST_F(JournalKeeperTest, AViewWaitsForAFullDiskAndTheLastOneDoesNot) {
  journal_->full = true;
  EXPECT_FALSE(keeper_.noted(next_view()));
  EXPECT_EQ(job_.run.phase, CoordinatorPhase::noting);
  EXPECT_EQ(port_.names_of_events(), PartTexts{"journal_delayed"});
  EXPECT_EQ(job_.run.pending.view().number, job_.run.view.number + 1);
  View last = next_view();
  last.last = true;
  EXPECT_TRUE(keeper_.noted(last));
}

TEST_F(JournalKeeperTest, WhoIsTakenOverEndsAndTellsNobody) {
  journal_->taken = true;
  EXPECT_FALSE(keeper_.noted(next_view()));
  EXPECT_TRUE(job_.run.term.taken_over());
  EXPECT_TRUE(job_.run.end.decided());
  EXPECT_EQ(connections_.forgotten, 1);
  EXPECT_EQ(port_.names_of_events(), PartTexts{"failed"});
  EXPECT_EQ(actions_.all, PartTexts{"finish"});
  EXPECT_TRUE(port_.sent.empty());
}

TEST_F(JournalKeeperTest, WhoIsTakenOverForgetsItsNodesBeforeItSaysSo) {
  journal_->taken = true;
  keeper_.noted(next_view());
  EXPECT_EQ(log_.all, (PartTexts{"forget all", "event failed", "finish"}));
}

TEST_F(JournalKeeperTest, AnEntryIsWrittenOnceAndNothingIsSaidOfIt) {
  EXPECT_TRUE(keeper_.noted(next_view()));
  EXPECT_EQ(log_.all, PartTexts{"journal view 2"});
}

TEST_F(JournalKeeperTest, AMissingLastEntryIsReported) {
  journal_->full = true;
  keeper_.last_note(true);
  EXPECT_EQ(log_.all, PartTexts{"event notice"});
  journal_->full = false;
  keeper_.last_note(true);
  EXPECT_EQ(log_.all, (PartTexts{"event notice", "journal view 1"}));
  EXPECT_TRUE(journal_->entry->ended);
}

TEST_F(JournalKeeperTest, OfTwoWithTheSameTermTheFirstToWriteWins) {
  another_writes_in_the_same_term();
  EXPECT_FALSE(keeper_.noted(next_view()));
  EXPECT_TRUE(job_.run.term.taken_over());
  EXPECT_EQ(journal_->entry->writer, 78u) << "nothing was written";
}

// Both had read the journal before either wrote.
TEST_F(JournalKeeperTest, OfTwoWithTheSameTermTheLastToWriteWinsIfBothHaveWritten) {
  EXPECT_TRUE(keeper_.noted(next_view()));
  another_writes_in_the_same_term();
  EXPECT_FALSE(keeper_.noted(next_view()));
  EXPECT_TRUE(job_.run.term.taken_over());
  EXPECT_EQ(journal_->entry->writer, 78u) << "nothing more was written";
}

TEST_F(JournalKeeperTest, AViewIsOutdatedOnceANewcomerInItIsGone) {
  EXPECT_FALSE(keeper_.is_outdated(job_.run.view));
  job_.membership().leaving(kReplica1);
  EXPECT_FALSE(keeper_.is_outdated(job_.run.view)) << "a member may leave in the view after it";
  job_.membership().lost(kReplica1);
  EXPECT_TRUE(keeper_.is_outdated(job_.run.view));
}

TEST_F(JournalKeeperTest, AViewIsOutdatedOnceStepsAreSuspected) {
  job_.checkpoints.suspects.suspect(5);
  EXPECT_TRUE(keeper_.is_outdated(job_.run.view));
  View back = job_.run.view;
  back.back = true;
  EXPECT_FALSE(keeper_.is_outdated(back));
}

TEST_F(JournalKeeperTest, ADiskThatStaysFullEndsTheRunWithItsState) {
  actions_.keeps_state = true;
  keeper_.give_up_journal();
  ASSERT_EQ(actions_.all.size(), 1u);
  EXPECT_EQ(actions_.all[0].find("keep state: the journal could not be written for 10000 ms"), 0u);
}

TEST_F(JournalKeeperTest, ARestartedCoordinatorWithAFullDiskKeepsNothing) {
  job_.run.term.journal_lacks_it();
  actions_.keeps_state = true;
  keeper_.give_up_journal();
  ASSERT_EQ(actions_.all.size(), 1u);
  EXPECT_EQ(actions_.all[0].find("fail: "), 0u);
  EXPECT_NE(actions_.all[0].find("replicas that live keep their state"), std::string::npos);
}

}  // namespace
}  // namespace muster
