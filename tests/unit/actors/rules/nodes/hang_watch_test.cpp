#include "actors/rules/nodes/hang_watch.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/rules/membership/membership_in_view.hpp"
#include "tests/unit/actors/rules/nodes/nodes_in_view.hpp"

namespace muster {
namespace {

constexpr std::chrono::milliseconds kStuckAfter(1000);

TEST(HangWatch, OnlyMembersOfTheViewHang) {
  NodeTable nodes = nodes_in_view(2, 1);
  add_newcomer(nodes, 5);
  for (auto& [name, record] : nodes.all()) record.last.hangs = kStuckAfter;
  nodes.at({false, 1}).last.hangs = kStuckAfter / 2;
  EXPECT_EQ(list_of(hanging_members(nodes, kStuckAfter, false)), "replica 0, loader 0");
  nodes.at({false, 0}).stage = NodeStage::lost;
  EXPECT_EQ(list_of(hanging_members(nodes, kStuckAfter, false)), "loader 0");
}

TEST(HangWatch, WhoIsDoneOwesItsPartOfTheStateAndNothingElse) {
  NodeTable nodes = nodes_in_view(1);
  nodes.at({false, 0}).last.hangs = kStuckAfter;
  nodes.at({false, 0}).stage = NodeStage::done;
  EXPECT_TRUE(hanging_members(nodes, kStuckAfter, false).empty());
  EXPECT_EQ(hanging_members(nodes, kStuckAfter, true).size(), 1u);
  EXPECT_TRUE(stalled_replicas(nodes, kStuckAfter).empty());
}

TEST(HangWatch, WhoseDataPlaneStandsStillHoldsUpTheOthers) {
  View view;
  Membership membership = membership_in_view(3, 0, view);
  const auto open = membership.begin_close();
  ASSERT_EQ(open.size(), 3u);
  const std::chrono::milliseconds patience(1000);
  EXPECT_EQ(who_holds_up(membership.nodes(), open, patience), kReplica2) << "nothing tells them apart";
  Heartbeat still;
  still.name = kReplica1;
  still.still_ms = 1000;
  membership.heard(still);
  EXPECT_EQ(who_holds_up(membership.nodes(), open, patience), kReplica1);
  EXPECT_EQ(who_holds_up(membership.nodes(), {kReplica2}, patience), kReplica1)
      << "it has done all that it owes, but one report";
  still.still_ms = 0;
  membership.heard(still);
  EXPECT_EQ(who_holds_up(membership.nodes(), open, patience), kReplica1)
      << "it did, when the others needed it";
  ++view.number;
  membership.entered(view);
  EXPECT_EQ(who_holds_up(membership.nodes(), open, patience), kReplica2);
}

// Others watch over loaders: that a replica waits for a slow one is no standstill of its own.
TEST(HangWatch, WhoWaitsForALoaderProcessDoesNotStand) {
  for (const std::uint32_t loaders : {0u, 1u}) {
    View view;
    Membership membership = membership_in_view(2, loaders, view);
    Heartbeat waits;
    waits.name = kReplica0;
    waits.activity = static_cast<std::uint32_t>(Activity::loading);
    waits.doing_ms = 5000;
    membership.heard(waits);
    const auto stalled = stalled_replicas(membership.nodes(), std::chrono::seconds(2));
    EXPECT_EQ(stalled, loaders == 0 ? std::vector{kReplica0} : std::vector<NodeName>{});
  }
}

TEST(HangWatch, WhoseOwnDataPlaneTakesNothingStandsWhateverItWaitsFor) {
  View view;
  Membership membership = membership_in_view(2, 1, view);
  Heartbeat waits;
  waits.name = kReplica0;
  waits.activity = static_cast<std::uint32_t>(Activity::loading);
  waits.doing_ms = waits.still_ms = 5000;
  membership.heard(waits);
  EXPECT_EQ(stalled_replicas(membership.nodes(), std::chrono::seconds(2)), std::vector{kReplica0});
  waits.still_ms = 0;
  membership.heard(waits);
  EXPECT_TRUE(stalled_replicas(membership.nodes(), std::chrono::seconds(2)).empty());
}

}  // namespace
}  // namespace muster
