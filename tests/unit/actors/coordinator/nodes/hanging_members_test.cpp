#include "actors/coordinator/nodes/hanging_members.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/coordinator/part_test.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

// Three replicas, two of them are enough. A thread that does nothing for 1 s hangs; after 5 s more it is
// given up. The view has been in force for long.
class HangingMembersTest : public PartTest {
 protected:
  HangingMembersTest() : PartTest(std::make_unique<RunningJob>(3)) {
    auto& cluster = job_.run.setup.job.cluster;
    cluster.min_replicas = 2;
    cluster.straggler.stuck_after = 1s;
    cluster.give_up_after = 5s;
  }
  void computes_for(const NodeName& who, std::chrono::milliseconds time, std::uint64_t step = 17) {
    Heartbeat message;
    message.name = who;
    message.step = step - 1;
    message.call = static_cast<std::uint32_t>(ThreadCall::Kind::computes);
    message.call_shard = 3;
    message.call_step = step;
    message.call_ms = static_cast<std::uint64_t>(time.count());
    job_.membership().heard(message);
  }
};

TEST_F(HangingMembersTest, OneThatOthersWaitForIsLost) {
  computes_for(kReplica1, 999ms);
  EXPECT_FALSE(hanging_.judge_hanging());
  computes_for(kReplica1, 1000ms);
  EXPECT_TRUE(hanging_.judge_hanging());
  EXPECT_EQ(
      actions_.all,
      PartTexts{"lost replica 1: one of its threads has done nothing for 1000 ms "
                "(cluster.straggler.stuck_after), and others wait for it; it has been computing shard 3 of "
                "step 17 for 1000 ms"});
}

TEST_F(HangingMembersTest, OneThatCannotBeSparedIsNamedOnceAndGivenUpLater) {
  job_.run.setup.job.cluster.min_replicas = 3;
  computes_for(kReplica1, 2s);
  EXPECT_FALSE(hanging_.judge_hanging());
  EXPECT_FALSE(hanging_.judge_hanging());
  ASSERT_EQ(port_.names_of_events(), PartTexts{"notice"});
  EXPECT_NE(port_.events[0].text("text").find("it cannot be spared (cluster.min_replicas)"),
            std::string::npos);
  computes_for(kReplica1, 6s);
  EXPECT_TRUE(hanging_.judge_hanging());
  ASSERT_EQ(actions_.all.size(), 1u);
  EXPECT_EQ(actions_.all[0].find("lost replica 1: it has done nothing for 6000 ms"), 0u);
}

TEST_F(HangingMembersTest, ARunInWhichNobodyWorksFails) {
  for (const NodeName& who : {kReplica0, kReplica1, kReplica2}) computes_for(who, 6s, 10 + who.slot);
  EXPECT_TRUE(hanging_.judge_hanging());
  ASSERT_EQ(actions_.all.size(), 1u);
  EXPECT_EQ(actions_.all[0].find("fail: no replica has done anything for"), 0u);
}

TEST_F(HangingMembersTest, AViewThatHasJustBegunOwesNothing) {
  hanging_.no_view_in_force();
  for (const NodeName& who : {kReplica0, kReplica1, kReplica2}) computes_for(who, 6s, 10 + who.slot);
  EXPECT_FALSE(hanging_.judge_hanging());
  EXPECT_TRUE(port_.events.empty());
}

TEST_F(HangingMembersTest, TwoThatHangAtOneMicroBatchEndTheRunWithItsState) {
  computes_for(kReplica1, 1s);
  EXPECT_TRUE(hanging_.judge_hanging());
  job_.membership().lost(kReplica1);
  computes_for(kReplica2, 1s);
  actions_.keeps_state = true;
  EXPECT_TRUE(hanging_.judge_hanging());
  ASSERT_EQ(actions_.all.size(), 2u);
  EXPECT_EQ(actions_.all[1].find("keep state: two replicas have hung at shard 3 of step 17"), 0u);
}

}  // namespace
}  // namespace muster
