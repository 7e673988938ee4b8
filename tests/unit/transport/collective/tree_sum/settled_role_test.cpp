#include "transport/collective/tree_sum/settled_role.hpp"

#include <gtest/gtest.h>

#include "tests/unit/transport/collective/reduction/reduction_shapes.hpp"

namespace {

using namespace muster;
using muster::testing::small_view;
using Inputs = std::vector<std::uint32_t>;
using Present = std::vector<bool>;

// Two members with two shards each: an owner adds the node 2 of member 0 and the node 3 of member 1.
TEST(SettledRole, AnOwnerAddsUpTheRootFromAllThatIsPresent) {
  const SumPlan plan(small_view(2, 2, 0));
  const SettledRole role = settle_role(plan.roles()[0], plan.height(), {true, true, false, true});
  EXPECT_EQ(role.expected, 2u);
  EXPECT_EQ(role.present, (Present{true, true}));
  ASSERT_EQ(role.additions.size(), 1u);
  EXPECT_EQ(role.additions[0].node, NodeId{1});
  EXPECT_EQ(role.additions[0].inputs.size(), 2u);
  EXPECT_EQ(role.additions[0].program.depth, 2u);
}

TEST(SettledRole, AnInputWithoutAPresentShardIsNotExpected) {
  const SumPlan plan(small_view(2, 2, 0));
  const SumPlan::Role& of_owner = plan.roles()[0];
  const SettledRole role = settle_role(of_owner, plan.height(), {false, true, false, false});
  EXPECT_EQ(role.expected, 1u);
  ASSERT_EQ(role.additions.size(), 1u);
  ASSERT_EQ(role.additions[0].inputs.size(), 1u);
  EXPECT_EQ(of_owner.inputs[role.additions[0].inputs[0]].node, NodeId{2});
  EXPECT_EQ(role.additions[0].program.depth, 1u);
}

TEST(SettledRole, NothingIsAddedWhereNoShardIsPresent) {
  const SumPlan plan(small_view(2, 2, 0));
  const SettledRole role = settle_role(plan.roles()[0], plan.height(), Present(4, false));
  EXPECT_EQ(role.expected, 0u);
  EXPECT_EQ(role.present, (Present{false, false}));
  EXPECT_TRUE(role.additions.empty());
}

TEST(SettledRole, AMemberThatNeitherOwnsNorAddsExpectsNothing) {
  const SumPlan plan(small_view(2, 2, 0));
  const SettledRole role = settle_role(plan.roles()[1], plan.height(), Present(4, true));
  EXPECT_EQ(role.expected, 0u);
  EXPECT_TRUE(role.present.empty());
  EXPECT_TRUE(role.additions.empty());
}

// Of eight shards: two nodes below node 2, one that goes on as it is.
TEST(SettledRole, AMemberOnTheWayAddsUpWhatGoesToItsParent) {
  SumPlan::Role role;
  role.parent = 5;
  role.children = {2, 3};
  role.inputs = {{4, 1}, {5, 2}, {7, 3}};
  role.outputs = {2, 7};
  const SettledRole all = settle_role(role, 3, Present(8, true));
  EXPECT_EQ(all.expected, 3u);
  ASSERT_EQ(all.additions.size(), 2u);
  EXPECT_EQ(all.additions[0].node, NodeId{2});
  EXPECT_EQ(all.additions[0].inputs, (Inputs{0, 1}));
  EXPECT_EQ(all.additions[1].node, NodeId{7});
  EXPECT_EQ(all.additions[1].inputs, (Inputs{2}));
  const SettledRole some = settle_role(role, 3, {false, false, true, true, true, true, false, false});
  EXPECT_EQ(some.expected, 1u);
  EXPECT_EQ(some.present, (Present{false, true, false}));
  ASSERT_EQ(some.additions.size(), 1u) << "the output without a present shard is not sent";
  EXPECT_EQ(some.additions[0].inputs, (Inputs{1}));
}

TEST(SettledRole, LeavesBeyondTheLastShardAreAbsent) {
  SumPlan::Role role;
  role.owns = true;
  role.inputs = {{2, 0}, {3, 1}};
  const SettledRole settled = settle_role(role, 2, {true, true, true});  // three shards of four leaves
  EXPECT_EQ(settled.expected, 2u);
  EXPECT_EQ(settle_role(role, 2, {true, true, false}).expected, 1u);
}

}  // namespace
