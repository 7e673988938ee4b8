// How long a coordinator waits for nodes that are started by hand.
#include <gtest/gtest.h>

#include "actors/coordinator/nodes/arrivals.hpp"
#include "tests/support/recording_ports.hpp"
#include "tests/unit/actors/coordinator/running_job.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

// Two places, and one tick of patience: nobody comes any more after ten.
class StartWaitTest : public ::testing::Test {
 protected:
  StartWaitTest() {
    run_.setup.job = job_of(2, 0);
    run_.setup.job.cluster.start_patience = kCoordinatorTick;
    run_.setup.by_hand = run_.setup.start_is_bounded = true;
    run_.membership = std::make_unique<Membership>(run_.setup.job);
  }
  void one_comes(const NodeName& who, bool is_ready = true) {
    EXPECT_EQ(run_.membership->admission().join(join_of(who)).refusal, "");
    run_.gathering.changed();
    if (!is_ready) return;
    EXPECT_EQ(run_.membership->admission().prepared(prepared_of(who)), "");
  }
  int ticks_until_it_fails() {
    for (int ticks = 1; ticks <= 100; ++ticks) {
      if (arrivals_.fail_for_missing()) return ticks;
    }
    return 0;
  }

  RunFacts run_;
  CheckpointFacts checkpoints_;
  testing::PartLog log_;
  testing::RecordingPort port_{log_};
  testing::RecordedConnections connections_{log_, port_};
  testing::RecordedActions actions_{log_};
  JournalKeeper journal_{run_, checkpoints_, port_, connections_, actions_};
  HangingMembers hanging_{run_, checkpoints_, port_, actions_, actions_};
  MemberWatch members_{run_, checkpoints_, hanging_, port_, actions_, actions_};
  Arrivals arrivals_{run_, checkpoints_, journal_, members_, {port_, connections_, actions_, actions_}};
};

TEST_F(StartWaitTest, SaysForHowManyItWaits) {
  arrivals_.report_waiting();
  ASSERT_EQ(port_.names_of_events(), std::vector<std::string>{"waiting"});
  EXPECT_EQ(port_.events[0].integer("replicas"), 2);
  EXPECT_EQ(port_.events[0].number("patience_ms"), 500);
}

TEST_F(StartWaitTest, FailsIfNobodyComes) {
  EXPECT_EQ(ticks_until_it_fails(), Gathering::kPatienceTimes);
  ASSERT_EQ(actions_.all.size(), 1u);
  EXPECT_EQ(actions_.all[0].find("fail: no node came for 500 ms"), 0u);
}

TEST_F(StartWaitTest, WhoComesBeginsItAnew) {
  for (int ticks = 0; ticks < 9; ++ticks) EXPECT_FALSE(arrivals_.fail_for_missing());
  one_comes(kReplica0);
  EXPECT_EQ(ticks_until_it_fails(), Gathering::kPatienceTimes);
}

TEST_F(StartWaitTest, NobodyIsMissingWhereAllPlacesAreTaken) {
  one_comes(kReplica0);
  one_comes(kReplica1, false);
  EXPECT_EQ(ticks_until_it_fails(), 0);
}

// begin_with_those_here() does it.
TEST_F(StartWaitTest, ARunThatBeginsWithoutALostOneDoesNotFail) {
  one_comes(kReplica0);
  one_comes(kReplica1);
  run_.membership->lost(kReplica1);
  run_.gathering.place_is_free();
  EXPECT_EQ(ticks_until_it_fails(), 0);
}

TEST_F(StartWaitTest, ARunInTheSimulatorWaits) {
  run_.setup.start_is_bounded = false;
  arrivals_.report_waiting();
  EXPECT_TRUE(port_.events.empty());
  EXPECT_EQ(ticks_until_it_fails(), 0);
}

}  // namespace
}  // namespace muster
