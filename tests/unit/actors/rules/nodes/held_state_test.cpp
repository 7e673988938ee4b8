#include "actors/rules/nodes/held_state.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/rules/nodes/nodes_in_view.hpp"

namespace muster {
namespace {

TEST(HeldState, NoRoundIsLeftOnlyIfOneIsThereThatHoldsTheLast) {
  NodeTable nodes = nodes_in_view(3);
  EXPECT_FALSE(all_is_trained(nodes));
  nodes.at({false, 0}).held.trained = true;
  EXPECT_TRUE(all_is_trained(nodes));
  nodes.at({false, 0}).stage = NodeStage::lost;
  EXPECT_FALSE(all_is_trained(nodes)) << "the others have to do the last step again";
}

TEST(HeldState, ANewcomerThatHoldsTheLastCountsWhereNoMemberIsLeft) {
  NodeTable nodes = nodes_in_view(1);
  add_newcomer(nodes, 5).held.trained = true;
  EXPECT_FALSE(all_is_trained(nodes));
  nodes.at({false, 0}).stage = NodeStage::lost;
  EXPECT_TRUE(all_is_trained(nodes));
}

TEST(HeldState, OnlyReplicasOfTheViewThatAreNotGoneAreLeft) {
  NodeTable nodes = nodes_in_view(3, 1);
  add_newcomer(nodes, 5);
  nodes.at({false, 1}).stage = NodeStage::left;
  EXPECT_EQ(replicas_left(nodes), (std::set<std::uint32_t>{0, 2}));
}

TEST(HeldState, TheLatestViewTakenIsThatOfWhoIsLeft) {
  NodeTable nodes = nodes_in_view(2, 0, 7);
  nodes.at({false, 0}).held.took = 4;
  nodes.at({false, 1}).held.took = 6;
  EXPECT_EQ(latest_view_taken(nodes), 6u);
  nodes.at({false, 1}).stage = NodeStage::lost;
  EXPECT_EQ(latest_view_taken(nodes), 4u);
  NodeRecord& newcomer = add_newcomer(nodes, 5);
  newcomer.stage = NodeStage::caught_up;
  EXPECT_EQ(latest_view_taken(nodes), 4u) << "a member is left";
  nodes.at({false, 0}).stage = NodeStage::lost;
  EXPECT_EQ(latest_view_taken(nodes), 7u) << "the newcomer was given the state in this one";
  newcomer.leaving = true;
  EXPECT_EQ(latest_view_taken(nodes), 0u);
}

TEST(HeldState, NewcomersHaveTheStateOnceTheyHaveCaughtUp) {
  NodeTable nodes = nodes_in_view(1);
  nodes.at({false, 0}).stage = NodeStage::closed;
  for (const NodeStage stage : {NodeStage::prepared, NodeStage::caught_up, NodeStage::closed}) {
    add_newcomer(nodes, 5).stage = stage;
    EXPECT_EQ(newcomers_with_state(nodes).size(), stage == NodeStage::prepared ? 0u : 1u);
  }
}

}  // namespace
}  // namespace muster
