#include <gtest/gtest.h>

#include "actors/rules/watch/stall_watch.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Replica 0 waits since 10 s for replica 1, which answers and computes, and for replica 2, which is silent.
RoundSight round_at(std::chrono::nanoseconds now) {
  RoundSight sight;
  sight.view = 3;
  sight.round = 7;
  sight.step = 30;
  sight.waiting_since = seconds(10);
  sight.median_step = milliseconds(100);
  sight.now = now;
  PeerSight peer;
  peer.peer = 1;
  peer.header_in = true;
  peer.progress = now;
  peer.doing.activity = Activity::computing;
  peer.spent[static_cast<std::size_t>(Activity::computing)] = now - seconds(10);
  sight.peers.push_back(peer);
  peer.peer = 2;
  peer.unanswered_since = seconds(10);
  sight.peers.push_back(peer);
  return sight;
}

StallWatch stall_watch(milliseconds patience = {}) {
  ClusterConfig cluster;
  cluster.straggler.patience = patience;
  return StallWatch(0, cluster);
}

TEST(StallWatch, ComplainsOfABrokenLinkOnceAPatienceAndSaysWhoIsLate) {
  StallWatch stalls = stall_watch();
  EXPECT_TRUE(stalls.of(round_at(milliseconds(10'900)), true).held_up.empty());
  const auto findings = stalls.of(round_at(milliseconds(11'000)), true);
  ASSERT_EQ(findings.complaints.size(), 1u);
  EXPECT_EQ(findings.complaints[0].name, (NodeName{false, 0}));
  EXPECT_EQ(findings.complaints[0].peer, (NodeName{false, 2}));
  EXPECT_EQ(findings.complaints[0].view, 3u);
  EXPECT_EQ(findings.complaints[0].reason, "no frame of it for 1000 ms");
  ASSERT_EQ(findings.held_up.size(), 2u);
  EXPECT_EQ(findings.held_up[0].slot, 1u);
  EXPECT_EQ(findings.held_up[0].cause, "compute");
  EXPECT_EQ(findings.held_up[0].step, 30u);
  EXPECT_EQ(findings.held_up[0].waited_ms, 1000);
  EXPECT_EQ(findings.held_up[1].cause, "link");
  EXPECT_TRUE(findings.held_up[1].link_broken);
  const auto again = stalls.of(round_at(milliseconds(11'100)), true);
  EXPECT_TRUE(again.complaints.empty() && again.held_up.empty());
  EXPECT_EQ(stalls.of(round_at(milliseconds(12'000)), true).complaints.size(), 1u)
      << "after a further patience";
  EXPECT_TRUE(stalls.of(round_at(milliseconds(12'100)), true).complaints.empty());
}

TEST(StallWatch, ALinkIsComplainedOfBeforeTheStragglersPatience) {
  StallWatch stalls = stall_watch(milliseconds(5000));
  const auto findings = stalls.of(round_at(milliseconds(11'000)), true);
  EXPECT_EQ(findings.complaints.size(), 1u);
  EXPECT_TRUE(findings.held_up.empty());
}

TEST(StallWatch, TheFirstGreetingIsNotHurried) {
  StallWatch stalls = stall_watch();
  RoundSight greeting = round_at(seconds(15));
  greeting.kind = RoundKind::greeting;
  const auto first = stalls.of(greeting, false);
  EXPECT_TRUE(first.complaints.empty() && first.held_up.empty());
  EXPECT_EQ(stalls.of(greeting, true).complaints.size(), 1u) << "a later one proves the links";
}

TEST(StallWatch, AReplicaSaysItselfThatItsDataDoesNotCome) {
  StallWatch stalls = stall_watch();
  const ProgressStatus loading{Activity::loading, 3, 9};
  EXPECT_FALSE(stalls.of_self(loading, 1, 5, seconds(1)));
  EXPECT_FALSE(stalls.of_self(loading, 1, 5, milliseconds(1999)));
  const auto late = stalls.of_self(loading, 1, 5, milliseconds(2000));
  ASSERT_TRUE(late);
  EXPECT_EQ(late->slot, 0u);
  EXPECT_EQ(late->cause, "data");
  EXPECT_EQ(late->waited_ms, 1000);
  EXPECT_FALSE(stalls.of_self(loading, 1, 5, seconds(9))) << "said once";
  EXPECT_FALSE(stalls.of_self({Activity::loading, 4, 10}, 1, 5, seconds(10))) << "one more has come";
  EXPECT_TRUE(stalls.of_self({Activity::loading, 4, 10}, 1, 5, seconds(11)));
}

TEST(StallWatch, AReplicaDoesNotComplainOfItsOwnComputing) {
  StallWatch stalls = stall_watch();
  const ProgressStatus computing{Activity::computing, 3, 9};
  EXPECT_FALSE(stalls.of_self(computing, 1, 5, seconds(1)));
  EXPECT_FALSE(stalls.of_self(computing, 1, 5, seconds(100)));
}

TEST(StallWatch, WhoWaitsStandsInOnceForWhoIsLateAndHasItsData) {
  ClusterConfig cluster;
  cluster.straggler.action = StragglerAction::speculate;
  cluster.straggler.patience = milliseconds(500);
  StallWatch stalls(0, cluster);
  const std::vector<Member> members{
      {{false, 0}, 1, "", 0, 2}, {{false, 1}, 1, "", 2, 4}, {{false, 2}, 1, "", 4, 8}};
  RoundSight seen = round_at(milliseconds(10'499));
  seen.peers[1].header_in = false;  // replica 2 misses its data: nobody else has that sooner
  EXPECT_TRUE(stalls.backup_tasks(seen, members, 8).empty());
  seen.now = milliseconds(10'500);
  EXPECT_EQ(stalls.backup_tasks(seen, members, 8), (std::vector<BackupTask>{{0, 1, 5, 2, 4}}));
  EXPECT_TRUE(stalls.backup_tasks(seen, members, 8).empty()) << "once";
  ++seen.round;
  EXPECT_EQ(stalls.backup_tasks(seen, members, 8).size(), 1u);
  EXPECT_TRUE(stall_watch(milliseconds(500)).backup_tasks(seen, members, 8).empty()) << "only if asked for";
}

}  // namespace
}  // namespace muster
