#include "actors/rules/nodes/stages.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/rules/nodes/nodes_in_view.hpp"

namespace muster {
namespace {

TEST(Stages, NewcomersAndLostOnesAreNotWaitedFor) {
  NodeTable nodes = nodes_in_view(2, 1);
  EXPECT_TRUE(all_are(nodes, NodeStage::installed));
  add_newcomer(nodes, 5);
  EXPECT_TRUE(all_are(nodes, NodeStage::installed));
  nodes.at({true, 0}).stage = NodeStage::closed;
  EXPECT_FALSE(all_are(nodes, NodeStage::installed));
  EXPECT_TRUE(all_are(nodes, NodeStage::installed, true)) << "it is a loader";
  nodes.at({true, 0}).stage = NodeStage::lost;
  EXPECT_TRUE(all_are(nodes, NodeStage::installed));
}

TEST(Stages, TheFirstStageThatSomeHaveNotReachedIsNamed) {
  NodeTable nodes;
  nodes[{false, 0}];
  nodes[{false, 1}].stage = NodeStage::joined;
  EXPECT_EQ(stage_behind(nodes), NodeStage::joined);
  EXPECT_EQ(list_of(nodes_behind(nodes)), "replica 0");
  nodes.at({false, 0}).stage = NodeStage::joined;
  EXPECT_EQ(stage_behind(nodes), NodeStage::prepared);
  EXPECT_EQ(list_of(nodes_behind(nodes)), "replica 0, replica 1");
  for (auto& [name, record] : nodes.all()) record.stage = NodeStage::prepared;
  EXPECT_EQ(stage_behind(nodes), NodeStage::installed);
  for (auto& [name, record] : nodes.all()) record.stage = NodeStage::installed;
  EXPECT_TRUE(nodes_behind(nodes).empty());
}

TEST(Stages, MembersThatOweAnAnswerAreNamed) {
  NodeTable nodes = nodes_in_view(3);
  nodes.at({false, 0}).stage = NodeStage::closed;
  nodes.at({false, 1}).stage = NodeStage::lost;
  EXPECT_EQ(list_of(not_closed(nodes)), "replica 2");
  EXPECT_EQ(list_of(not_installed(nodes)), "replica 0");
}

TEST(Stages, AViewHasBegunWhereAllWhoAreLeftSaySo) {
  NodeTable nodes = nodes_in_view(2, 0, 3);
  EXPECT_FALSE(all_have_begun(nodes, 3));
  for (auto& [name, record] : nodes.all()) record.view.begun = true;
  EXPECT_TRUE(all_have_begun(nodes, 3));
  EXPECT_FALSE(all_have_begun(nodes, 4));
  nodes.at({false, 0}).view.number = 2;
  EXPECT_FALSE(all_have_begun(nodes, 3)) << "it knows of an older one";
  nodes.at({false, 0}).stage = NodeStage::lost;
  EXPECT_TRUE(all_have_begun(nodes, 3));
}

}  // namespace
}  // namespace muster
