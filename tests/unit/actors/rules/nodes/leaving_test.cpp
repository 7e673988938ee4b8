#include "actors/rules/nodes/leaving.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/rules/nodes/nodes_in_view.hpp"

namespace muster {
namespace {

using SlotSet = std::set<std::uint32_t>;

// Members of a view that have closed it, each with so many records.
NodeTable closed_with(const std::vector<std::uint64_t>& records) {
  NodeTable nodes = nodes_in_view(static_cast<std::uint32_t>(records.size()));
  for (std::uint32_t slot = 0; slot < records.size(); ++slot)
    nodes.at({false, slot}).held.records = records[slot];
  return nodes;
}

TEST(Leaving, ANewcomerThatDoesNotGetReadyDoesNotStay) {
  NodeTable nodes = nodes_in_view(1);
  nodes.at({false, 0}).leaving = true;
  EXPECT_FALSE(any_replica_stays(nodes));
  NodeRecord& newcomer = add_newcomer(nodes, 5);
  newcomer.stage = NodeStage::joined;
  EXPECT_TRUE(any_replica_stays(nodes));
  newcomer.preparation.late = true;
  EXPECT_FALSE(any_replica_stays(nodes));
}

TEST(Leaving, WhoIsLostIsNotAsked) {
  NodeTable nodes = nodes_in_view(2);
  nodes.at({false, 0}).leaving = true;
  EXPECT_FALSE(all_leave(nodes));
  nodes.at({false, 1}).stage = NodeStage::lost;
  EXPECT_TRUE(all_leave(nodes));
  nodes.at({false, 0}).stage = NodeStage::lost;
  EXPECT_FALSE(all_leave(nodes)) << "nobody is there";
}

TEST(Leaving, OthersOfTheViewCanGoWhileOneStays) {
  NodeTable nodes = closed_with({5, 5});
  nodes.at({false, 0}).leaving = true;
  EXPECT_EQ(to_hold_back(nodes, nullptr), SlotSet{});
}

TEST(Leaving, TheLastOneGivesItsStateToANewcomerBeforeItGoes) {
  NodeTable nodes = closed_with({5, 6});
  for (const std::uint32_t slot : {0u, 1u}) nodes.at({false, slot}).leaving = true;
  EXPECT_EQ(to_hold_back(nodes, nullptr), SlotSet{}) << "nobody stays";
  add_newcomer(nodes, 5);
  EXPECT_EQ(to_hold_back(nodes, nullptr), SlotSet{1}) << "it has applied most";
}

TEST(Leaving, WhoHasAppliedAStepOfWhichOthersHaveNotHeardStays) {
  NodeTable nodes = closed_with({6, 5});
  nodes.at({false, 0}).leaving = true;
  EXPECT_EQ(to_hold_back(nodes, nullptr), SlotSet{0});
}

TEST(Leaving, NobodyGoesFromAViewWhoseFirstRecordSomeMiss) {
  NodeTable nodes = closed_with({5, 5});
  View next = nodes.view();
  next.number = 2;
  next.behind.push_back({1, 4});
  nodes.at({false, 0}).leaving = true;
  nodes.enter(next);
  EXPECT_EQ(to_hold_back(nodes, nullptr), SlotSet{0});
  nodes.at({false, 1}).held.took = 2;
  EXPECT_EQ(to_hold_back(nodes, nullptr), SlotSet{}) << "a record of it was taken";
}

TEST(Leaving, WhoHoldsAPartThatNobodyElseHasStays) {
  NodeTable nodes = closed_with({5, 5, 5});
  PartSource source;
  source.view = 1;
  source.holders = {{0, 1, 0, 1}, {2, 0, 1, 2}};
  for (const std::uint32_t slot : {0u, 1u}) nodes.at({false, slot}).leaving = true;
  EXPECT_EQ(to_hold_back(nodes, &source), SlotSet{1}) << "replica 0 went first, and is the other holder";
  EXPECT_EQ(to_hold_back(nodes, nullptr), SlotSet{}) << "each has the whole state";
}

TEST(Leaving, WhoWasHeldBackMayGoIfAnotherStaysInTheViewOrNobodyDoes) {
  NodeTable nodes = nodes_in_view(2);
  NodeRecord& first = nodes.at({false, 0});
  first.leaving = true;
  EXPECT_FALSE(may_let_go(nodes)) << "nobody was held back";
  first.held_back = true;
  EXPECT_TRUE(may_let_go(nodes));
  nodes.at({false, 1}).stage = NodeStage::lost;
  EXPECT_TRUE(may_let_go(nodes)) << "nobody stays";
  add_newcomer(nodes, 5);
  EXPECT_FALSE(may_let_go(nodes)) << "it is to be given the state";
}

}  // namespace
}  // namespace muster
