#include "actors/coordinator/nodes/member_watch.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/coordinator/part_test.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

// Two replicas and a loader. Patience is two ticks.
class MemberWatchTest : public PartTest {
 protected:
  MemberWatchTest() : PartTest(std::make_unique<RunningJob>(2, 1)) {
    job_.run.setup.job.cluster.detect.patience = 2 * kCoordinatorTick;
    port_.nodes = {kReplica0, kReplica1, kLoader0};
  }
  // How many ticks pass until somebody is lost; 1000: nobody is.
  int ticks_until(bool (MemberWatch::*judge)()) {
    int ticks = 1;
    while (!(members_.*judge)() && ticks < 1000) ++ticks;
    return ticks;
  }
  void close_view() {
    job_.run.phase = CoordinatorPhase::closing;
    job_.membership().begin_close();
  }
  void closes(const NodeName& who) { job_.membership().closed({who, job_.run.view.number, 4, 4}); }
};

TEST_F(MemberWatchTest, WhoDoesNotCloseTheViewIsLost) {
  close_view();
  closes(kReplica0);
  closes(kLoader0);
  EXPECT_EQ(ticks_until(&MemberWatch::judge_closing), 40);
  EXPECT_EQ(actions_.all,
            PartTexts{"lost replica 1: view 1 is not closed within 2000 ms, and what it sends or "
                      "receives does not end"});
}

TEST_F(MemberWatchTest, WhoHoldsUpTheLastViewIsLostInTimeForTheOthers) {
  job_.run.setup.job.checkpoint.grace = 4000ms;
  job_.run.end.keep_state("interrupted", "SIGTERM", port_.now() + 4000ms);
  close_view();
  closes(kReplica0);
  closes(kLoader0);
  EXPECT_EQ(ticks_until(&MemberWatch::judge_closing), 20) << "a quarter of the grace";
}

TEST_F(MemberWatchTest, ALoaderOwesItsAnswerAtOnce) {
  close_view();
  EXPECT_EQ(ticks_until(&MemberWatch::judge_loaders), 6);
  EXPECT_EQ(actions_.all, PartTexts{"lost loader 0: it has not closed view 1 within 300 ms"});
}

TEST_F(MemberWatchTest, TheFirstViewHasTheTimeInWhichNodesMayCome) {
  close_view();
  for (const NodeName& who : {kReplica0, kReplica1, kLoader0}) closes(who);
  job_.run.phase = CoordinatorPhase::installing;
  job_.run.setup.job.cluster.start_patience = 3000ms;
  EXPECT_EQ(ticks_until(&MemberWatch::judge_installing), 40);
  job_.run.begun = false;
  EXPECT_EQ(ticks_until(&MemberWatch::judge_installing), 60);
  EXPECT_EQ(actions_.all.size(), 2u);
}

TEST_F(MemberWatchTest, NothingIsOwedWhileAViewIsInForce) {
  EXPECT_EQ(ticks_until(&MemberWatch::judge_closing), 1000);
  EXPECT_EQ(ticks_until(&MemberWatch::judge_installing), 1000);
  EXPECT_EQ(ticks_until(&MemberWatch::judge_loaders), 1000);
}

TEST_F(MemberWatchTest, ThePulseGoesToAllWhoLive) {
  job_.run.setup.job.cluster.detect.heartbeat = 200ms;
  job_.membership().lost(kReplica1);
  members_.pulse_if_due();
  EXPECT_EQ(port_.sent.size(), 2u);
  EXPECT_EQ(port_.sent_to<Pulse>(kReplica1).size(), 0u);
  port_.time += 199ms;
  members_.pulse_if_due();
  EXPECT_EQ(port_.sent.size(), 2u);
  port_.time += 1ms;
  members_.pulse_if_due();
  EXPECT_EQ(port_.sent.size(), 4u);
}

TEST_F(MemberWatchTest, SilenceOfAllEndsTheRunAfterItsTime) {
  job_.run.setup.job.cluster.give_up_after = 10s;
  members_.see(SelfDoubt::Sight::all_silent);
  EXPECT_EQ(port_.names_of_events(), PartTexts{"paused"});
  EXPECT_FALSE(members_.give_up_silence());
  port_.time += 10s;
  EXPECT_TRUE(members_.give_up_silence());
  ASSERT_EQ(actions_.all.size(), 1u);
  EXPECT_EQ(actions_.all[0].find("fail: no message from any member for 10000 ms"), 0u);
  EXPECT_TRUE(job_.run.end.gives_up_silence());
}

TEST_F(MemberWatchTest, MembersThatAreHeardAgainEndThePause) {
  members_.see(SelfDoubt::Sight::all_silent);
  port_.time += 3s;
  members_.see(SelfDoubt::Sight::clear);
  EXPECT_EQ(port_.names_of_events(), (PartTexts{"paused", "heard_again"}));
  EXPECT_EQ(port_.events[1].number("after_ms"), 3000);
}

}  // namespace
}  // namespace muster
