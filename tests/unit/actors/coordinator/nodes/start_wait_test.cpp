// How long a coordinator waits for nodes that are started by hand.
#include <gtest/gtest.h>

#include "actors/coordinator/nodes/arrivals.hpp"
#include "tests/unit/actors/coordinator/part_test.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

// Two places, and one tick of patience: nobody comes any more after ten.
class StartWaitTest : public PartTest {
 protected:
  StartWaitTest() : PartTest(std::make_unique<StartingJob>(2)) {
    job_.run.setup.job.cluster.start_patience = kCoordinatorTick;
    job_.run.setup.by_hand = job_.run.setup.start_is_bounded = true;
    job_.run.membership = std::make_unique<Membership>(job_.run.setup.job);
  }
  void one_comes(const NodeName& who, bool is_ready = true) {
    EXPECT_EQ(job_.run.membership->admission().join(join_of(who)).refusal, "");
    job_.run.gathering.changed();
    if (!is_ready) return;
    EXPECT_EQ(job_.run.membership->admission().prepared(prepared_of(who)), "");
  }
  int ticks_until_it_fails() {
    for (int ticks = 1; ticks <= 100; ++ticks) {
      if (arrivals_.fail_for_missing()) return ticks;
    }
    return 0;
  }
};

TEST_F(StartWaitTest, SaysForHowManyItWaits) {
  arrivals_.report_waiting();
  ASSERT_EQ(port_.names_of_events(), std::vector<std::string>{"waiting"});
  EXPECT_EQ(port_.events[0].integer("replicas"), 2);
  EXPECT_EQ(port_.events[0].number("patience_ms"), 500);
  EXPECT_EQ(port_.events[0].integer("patience_times"), 10);
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
  job_.run.membership->lost(kReplica1);
  job_.run.gathering.place_is_free();
  EXPECT_EQ(ticks_until_it_fails(), 0);
}

TEST_F(StartWaitTest, ARunInTheSimulatorWaits) {
  job_.run.setup.start_is_bounded = false;
  arrivals_.report_waiting();
  EXPECT_TRUE(port_.events.empty());
  EXPECT_EQ(ticks_until_it_fails(), 0);
}

}  // namespace
}  // namespace muster
