#include "actors/coordinator/views/view_change.hpp"

#include <gtest/gtest.h>

#include "tests/support/recording_ports.hpp"
#include "tests/unit/actors/coordinator/running_job.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
using PartTexts = std::vector<std::string>;

// Three replicas train in view 1.
class ViewChangeTest : public ::testing::Test {
 protected:
  ViewChangeTest() {
    job_.run.setup.job.cluster.give_up_after = 10s;
    port_.nodes = {kReplica0, kReplica1, kReplica2};
  }
  void lose(const NodeName& who) {
    job_.membership().lost(who);
    job_.run.lost.push_back(who);
    change_.close_view();
  }
  void closes(const NodeName& who) { change_.on(Closed{who, 1, 4, 0}); }
  void installs(const NodeName& who, std::uint32_t view) { change_.on(Installed{who, view}); }
  std::size_t told_to_close(const NodeName& who) const { return port_.sent_to<Close>(who).size(); }

  RunningJob job_{3};
  testing::RecordingPort port_;
  testing::NoConnections connections_;
  testing::RecordedActions actions_;
  JournalKeeper journal_{job_.run, job_.checkpoints, port_, connections_, actions_};
  SuspectCheckpoints suspects_{job_.run, job_.checkpoints, journal_, port_};
  Rollback rollback_{job_.run, job_.checkpoints, suspects_, port_, actions_, actions_};
  EpochReports epochs_{job_.run, job_.checkpoints, port_, actions_};
  ViewChange change_{job_.run, job_.checkpoints, {journal_, suspects_, rollback_, epochs_},
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
