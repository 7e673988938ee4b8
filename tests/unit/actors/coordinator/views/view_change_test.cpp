#include "actors/coordinator/views/view_change.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/coordinator/part_test.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

// Three replicas train in view 1.
class ViewChangeTest : public PartTest {
 protected:
  ViewChangeTest() : PartTest(std::make_unique<RunningJob>(3)) {
    job_.run.setup.job.cluster.give_up_after = 10s;
    port_.nodes = {kReplica0, kReplica1, kReplica2};
    has_a_journal();
  }
  void lose(const NodeName& who) {
    job_.membership().lost(who);
    job_.run.lost.push_back(who);
    change_.close_view();
  }
  void closes(const NodeName& who) { change_.on(Closed{who, 1, 4, 0}); }
  void installs(const NodeName& who, std::uint32_t view) { change_.on(Installed{who, view}); }
  std::size_t told_to_close(const NodeName& who) const { return port_.sent_to<Close>(who).size(); }

  EpochReports epochs_{job_.run, job_.checkpoints, port_, actions_};
  ViewChange change_{job_.run, job_.checkpoints, {keeper_, suspects_, rollback_, epochs_},
                     port_,    actions_,         actions_};
};

TEST_F(ViewChangeTest, AllWhoAreLeftAreToldWhoIsLost) {
  lose(kReplica2);
  EXPECT_EQ(job_.run.phase, CoordinatorPhase::closing);
  for (const NodeName& who : {kReplica0, kReplica1}) {
    ASSERT_EQ(told_to_close(who), 1u);
    EXPECT_EQ(port_.sent_to<Close>(who)[0].lost, std::vector<NodeName>{kReplica2});
  }
  EXPECT_EQ(told_to_close(kReplica2), 0u);
}

TEST_F(ViewChangeTest, LossesWhileAViewIsClosedAreToldTogether) {
  change_.close_view();
  lose(kReplica1);
  lose(kReplica2);
  EXPECT_EQ(port_.wakes, std::vector<std::chrono::milliseconds>{5ms});
  EXPECT_EQ(told_to_close(kReplica0), 1u);
  change_.ask_to_close();
  ASSERT_EQ(told_to_close(kReplica0), 2u);
  EXPECT_EQ(port_.sent_to<Close>(kReplica0)[1].lost, (std::vector<NodeName>{kReplica1, kReplica2}));
}

TEST_F(ViewChangeTest, TheNextViewIsInstalledWhenAllHaveClosed) {
  lose(kReplica2);
  closes(kReplica0);
  EXPECT_EQ(job_.run.phase, CoordinatorPhase::closing);
  closes(kReplica1);
  EXPECT_EQ(job_.run.phase, CoordinatorPhase::installing);
  EXPECT_EQ(job_.run.view.number, 2u);
  EXPECT_EQ(job_.run.view.records, 4u);
  EXPECT_EQ(job_.run.view.replicas.size(), 2u);
  for (const NodeName& who : {kReplica0, kReplica1}) EXPECT_EQ(port_.sent_to<Install>(who).size(), 1u);
}

TEST_F(ViewChangeTest, AViewBeginsWhenAllHaveInstalledIt) {
  lose(kReplica2);
  closes(kReplica0);
  closes(kReplica1);
  installs(kReplica0, 2);
  installs(kReplica1, 1);  // late, of the view before
  EXPECT_EQ(job_.run.phase, CoordinatorPhase::installing);
  installs(kReplica1, 2);
  EXPECT_EQ(job_.run.phase, CoordinatorPhase::running);
  for (const NodeName& who : {kReplica0, kReplica1}) EXPECT_EQ(port_.sent_to<Begin>(who).size(), 1u);
  EXPECT_EQ(actions_.all, PartTexts{"feed newcomers"});
  EXPECT_EQ(port_.names_of_events().back(), "view");
}

TEST_F(ViewChangeTest, WhoAskedToLeaveGoesWithTheViewThatLacksIt) {
  job_.membership().leaving(kReplica2);
  change_.close_view();
  for (const NodeName& who : {kReplica0, kReplica1, kReplica2}) closes(who);
  EXPECT_EQ(job_.run.view.replicas.size(), 2u);
  ASSERT_EQ(port_.sent_to<Stop>(kReplica2).size(), 1u);
  EXPECT_TRUE(port_.sent_to<Stop>(kReplica2)[0].good);
}

// --- in which order

TEST_F(ViewChangeTest, AViewIsInTheJournalBeforeAMemberHearsOfIt) {
  lose(kReplica2);
  log_.all.clear();
  closes(kReplica0);
  closes(kReplica1);
  EXPECT_EQ(log_.all, (PartTexts{"journal view 2", "Install to replica 0", "Install to replica 1"}));
}

TEST_F(ViewChangeTest, NobodyHearsOfAViewThatTheJournalLacks) {
  lose(kReplica2);
  log_.all.clear();
  journal_->full = true;
  closes(kReplica0);
  closes(kReplica1);
  EXPECT_EQ(log_.all, PartTexts{"event journal_delayed"});
  EXPECT_EQ(job_.run.view.number, 1u);
}

TEST_F(ViewChangeTest, WhoLeavesIsLetGoBehindTheViewThatLacksIt) {
  job_.membership().leaving(kReplica2);
  change_.close_view();
  log_.all.clear();
  for (const NodeName& who : {kReplica0, kReplica1, kReplica2}) closes(who);
  EXPECT_EQ(log_.all, (PartTexts{"journal view 2", "Install to replica 0", "Install to replica 1",
                                 "Stop to replica 2"}));
}

TEST_F(ViewChangeTest, TheEventsOfAViewComeBeforeItsFirstStepCan) {
  lose(kReplica2);
  closes(kReplica0);
  closes(kReplica1);
  log_.all.clear();
  installs(kReplica0, 2);
  installs(kReplica1, 2);
  EXPECT_EQ(log_.all, (PartTexts{"event joined", "event joined", "event view", "Begin to replica 0",
                                 "Begin to replica 1", "feed newcomers"}));
}

TEST_F(ViewChangeTest, ThatARunGoesBackIsSaidBeforeTheViewThatDoesSo) {
  Checkpointed good;
  good.manifest = "tiny-2";
  good.records = good.step = 2;
  job_.checkpoints.known->reported(good);
  job_.checkpoints.suspects.suspect(3);
  lose(kReplica2);
  log_.all.clear();
  closes(kReplica0);
  closes(kReplica1);
  EXPECT_EQ(log_.all,
            (PartTexts{"event went_back", "journal view 2", "Install to replica 0", "Install to replica 1"}));
  EXPECT_TRUE(job_.run.view.back);
}

TEST_F(ViewChangeTest, APauseIsReportedBeforeNewcomersAreFed) {
  job_.run.membership = std::make_unique<Membership>(membership_in_view(3, 0, job_.run.view, 3));
  lose(kReplica2);
  log_.all.clear();
  closes(kReplica0);
  closes(kReplica1);
  EXPECT_EQ(log_.all, (PartTexts{"event paused", "feed newcomers"}));
}

// Two replicas, of which one cannot read the data; their loader is lost, and the run is paused for it.
class ViewChangeWithoutLoader : public ViewChangeTest {
 protected:
  ViewChangeWithoutLoader() {
    job_.run.setup.job.cluster.on_loader_loss = OnLoaderLoss::load_here;
    job_.run.membership =
        std::make_unique<Membership>(without_loaders(OnLoaderLoss::load_here, false, job_.run.view));
    change_.next_view();
  }
};

TEST_F(ViewChangeWithoutLoader, AMemberThatCannotReadIsWorthAPause) {
  EXPECT_EQ(job_.run.phase, CoordinatorPhase::paused);
  EXPECT_EQ(port_.events.back().text("waits_for"),
            "a loader process, for replica 1 cannot read the data itself");
}

TEST_F(ViewChangeWithoutLoader, BehindThePauseTheOthersGoOn) {
  actions_.all.clear();
  EXPECT_TRUE(change_.go_on_without_loader());
  EXPECT_EQ(actions_.all,
            PartTexts{"lost replica 1: it cannot read the data itself, and no loader process came within "
                      "10000 ms (cluster.give_up_after)"});
}

TEST_F(ViewChangeWithoutLoader, WhereEachLossEndsTheRunItsStateIsKeptInstead) {
  job_.run.setup.job.cluster.on_loss = OnLoss::fail;
  EXPECT_FALSE(change_.go_on_without_loader());
}

TEST_F(ViewChangeWithoutLoader, ANewcomerIsNotWorthAPause) {
  std::erase_if(job_.run.view.replicas, [](const Member& each) { return each.name == kReplica1; });
  job_.membership().entered(job_.run.view);
  job_.membership().transfers().caught_up({kReplica1, job_.run.view.number, 4});
  actions_.all.clear();
  change_.next_view();
  ASSERT_FALSE(actions_.all.empty());
  EXPECT_EQ(actions_.all[0],
            "turn away replica 1: it cannot read the data itself, and no loader process came");
}

TEST_F(ViewChangeTest, WithoutAFolderTheRunIsInterruptedWhenAllLeave) {
  for (const NodeName& who : {kReplica0, kReplica1, kReplica2}) job_.membership().leaving(who);
  change_.close_view();
  log_.all.clear();
  for (const NodeName& who : {kReplica0, kReplica1, kReplica2}) closes(who);
  EXPECT_EQ(log_.all, (PartTexts{"event interrupted", "conclude: interrupted"}));
}

TEST_F(ViewChangeTest, LossesWhileAViewIsClosedWaitForTheTimer) {
  change_.close_view();
  log_.all.clear();
  lose(kReplica1);
  lose(kReplica2);
  change_.ask_to_close();
  EXPECT_EQ(log_.all, (PartTexts{"wake in 5 ms", "Close to replica 0"}));
}

// --- in force

TEST_F(ViewChangeTest, TheFirstStepOfAViewEndsTheTimeWithoutSteps) {
  job_.run.took_effect = false;
  job_.run.recovery.loses(port_.now());
  port_.time += 64ms;
  Progress step;
  step.step = 5;
  change_.makes_step(step);
  ASSERT_EQ(port_.names_of_events(), PartTexts{"recovered"});
  EXPECT_EQ(port_.events[0].number("after_ms"), 64);
  EXPECT_TRUE(job_.run.took_effect);
  change_.makes_step(step);
  EXPECT_EQ(port_.events.size(), 1u);
}

}  // namespace
}  // namespace muster
