#include "actors/rules/nodes/node_table.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/rules/nodes/nodes_in_view.hpp"

namespace muster {
namespace {

TEST(NodeTable, ANodeLivesFromItsJoiningUntilItIsGone) {
  NodeTable nodes;
  const NodeName who{false, 3};
  EXPECT_FALSE(nodes.alive(who)) << "nothing is known of it";
  nodes[who].process.incarnation = 7;
  EXPECT_FALSE(nodes.alive(who)) << "it is expected";
  EXPECT_TRUE(nodes.none_alive());
  nodes[who].stage = NodeStage::joined;
  EXPECT_TRUE(nodes.alive(who));
  EXPECT_TRUE(nodes.lives(who, 7));
  EXPECT_FALSE(nodes.lives(who, 8)) << "that is another process";
  for (const NodeStage stage : {NodeStage::left, NodeStage::lost}) {
    nodes[who].stage = stage;
    EXPECT_FALSE(nodes.alive(who));
    EXPECT_TRUE(nodes.none_alive());
  }
}

TEST(NodeTable, BeforeTheFirstViewAllAreWaitedForAndThenItsMembers) {
  NodeTable nodes;
  EXPECT_TRUE(nodes.waits_for(nodes[{false, 0}]));
  nodes.at({false, 0}).stage = NodeStage::lost;
  EXPECT_FALSE(nodes.waits_for(nodes.at({false, 0})));
  NodeTable running = nodes_in_view(1);
  EXPECT_TRUE(running.waits_for(running.at({false, 0})));
  EXPECT_FALSE(running.waits_for(add_newcomer(running, 5)));
}

TEST(NodeTable, AViewMakesItsNodesMembersAndNoOthers) {
  NodeTable nodes = nodes_in_view(3);
  NodeRecord& newcomer = add_newcomer(nodes, 5);
  newcomer.stage = NodeStage::closed;
  newcomer.member = true;  // it closed the view with the others
  nodes.at({false, 0}).leaving = true;
  nodes.at({false, 1}).last.still = std::chrono::milliseconds(9);
  View next = nodes.view();
  next.number = 2;
  next.replicas.resize(2);
  next.replicas[1].since = 2;
  next.replicas[1].clean = 4;
  next.replicas[1].alone_from = 3;
  next.replicas[1].holds_of = {0};
  nodes.enter(next);
  EXPECT_EQ(nodes.view().number, 2u);
  EXPECT_TRUE(nodes.member({false, 0}));
  EXPECT_TRUE(nodes.at({false, 0}).held_back) << "it wanted to leave";
  const NodeRecord& second = nodes.at({false, 1});
  EXPECT_FALSE(second.held_back);
  EXPECT_EQ(second.view.number, 2u);
  EXPECT_EQ(second.view.since, 2u);
  EXPECT_EQ(second.bits.clean, 4u);
  EXPECT_EQ(second.bits.alone_from, 3u);
  EXPECT_EQ(second.bits.holds_of, std::set<std::uint32_t>{0});
  EXPECT_EQ(second.last.still.count(), 0);
  EXPECT_FALSE(nodes.member({false, 2}));
  EXPECT_EQ(nodes.at({false, 2}).view.number, 1u) << "it is not told of the new one";
  EXPECT_FALSE(nodes.member({false, 5}));
  EXPECT_EQ(newcomer.stage, NodeStage::prepared) << "it needs a state from a member of the new view";
}

TEST(NodeTable, AHeartbeatOfAStrangerAddsNobody) {
  NodeTable nodes = nodes_in_view(1);
  nodes.heard({{false, 9}, 3});
  EXPECT_EQ(nodes.find({false, 9}), nullptr);
}

TEST(NodeTable, WhoHasGoneOnCanGiveItsStateAgain) {
  NodeTable nodes = nodes_in_view(1);
  NodeRecord& record = nodes.at({false, 0});
  record.last.step = 5;
  record.passed_over = true;
  nodes.heard({{false, 0}, 5});
  EXPECT_TRUE(record.passed_over);
  nodes.heard({{false, 0}, 6});
  EXPECT_FALSE(record.passed_over);
}

TEST(NodeTable, TheLongestStandstillOfADataPlaneIsKept) {
  LastHeartbeat last;
  Heartbeat message;
  message.still_ms = 30;
  last.heard(message);
  message.still_ms = 10;
  last.heard(message);
  EXPECT_EQ(last.still.count(), 30);
  EXPECT_EQ(last.hangs.count(), 10) << "that is what it says now";
  last.view_entered();
  EXPECT_EQ(last.still.count(), 0);
}

TEST(NodeTable, LoadersThatLeaveDoNotCount) {
  NodeTable nodes = nodes_in_view(1, 1);
  EXPECT_TRUE(nodes.any_loader());
  nodes.at({true, 0}).leaving = true;
  EXPECT_FALSE(nodes.any_loader());
}

TEST(NodeTable, ANodeIsNamedWithItsHostIfThatIsKnown) {
  NodeTable nodes = nodes_in_view(1);
  EXPECT_EQ(nodes.name_at_host({false, 0}), "replica 0");
  nodes.at({false, 0}).process.host = "host2";
  EXPECT_EQ(nodes.name_at_host({false, 0}), "replica 0 on host2");
  nodes.at({false, 0}).process.address = "10.0.0.2";
  EXPECT_EQ(nodes.name_at_host({false, 0}), "replica 0 on host2 (10.0.0.2)");
  EXPECT_EQ(nodes.name_at_place({false, 0}), "replica 0 on host2 (10.0.0.2)");
  EXPECT_EQ(nodes.name_at_place({false, 7}), "replica 7") << "nobody has come by this number";
  nodes[{false, 0}].process.address = "127.0.0.1";
  EXPECT_EQ(nodes.name_at_place({false, 0}), "replica 0") << "there is one host";
}

TEST(NodeTable, WhoIsNotTriedIsReadyAndCannotBeAMember) {
  NodeTable nodes = nodes_in_view(2);
  nodes.at({false, 1}).preparation.tried = false;
  EXPECT_EQ(nodes.ready(false), 1u);
  EXPECT_EQ(nodes.ready(true), 0u);
  EXPECT_EQ(nodes.ready_besides({false, 0}), (std::vector<NodeName>{{false, 1}}));
}

}  // namespace
}  // namespace muster
