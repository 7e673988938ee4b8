#include "actors/rules/nodes/compared_bits.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/rules/nodes/nodes_in_view.hpp"

namespace muster {
namespace {

TEST(ComparedBits, WhatIsSaidOfTheReplicasOfTheViewIsKeptIfItIsLater) {
  NodeTable nodes = nodes_in_view(2, 0, 3);
  gradients_compared(nodes, 3, {5, 9});
  gradients_compared(nodes, 3, {7, 2});
  EXPECT_EQ(nodes.at({false, 0}).bits.clean, 7u);
  EXPECT_EQ(nodes.at({false, 1}).bits.clean, 9u);
}

TEST(ComparedBits, WhatIsSaidOfAnotherViewOrOfOthersCountsForNothing) {
  NodeTable nodes = nodes_in_view(2, 0, 3);
  gradients_compared(nodes, 2, {5, 9});
  gradients_compared(nodes, 3, {5});
  EXPECT_EQ(nodes.at({false, 0}).bits.clean, kCleanUntilView);
}

TEST(ComparedBits, AMemberThatWasComparedHoldsNobodysBitsAndANewcomerStillDoes) {
  NodeTable nodes = nodes_in_view(1);
  NodeRecord& member = nodes.at({false, 0});
  NodeRecord& newcomer = add_newcomer(nodes, 5);
  for (NodeRecord* record : {&member, &newcomer}) {
    record->bits.proven = true;
    record->bits.given_by(3);
    record->bits.alone_from = 4;
    EXPECT_FALSE(record->bits.proven);
  }
  newcomer.member = true;  // it closes the view with the others
  weights_compared(nodes);
  EXPECT_TRUE(member.bits.holds_of.empty());
  EXPECT_EQ(newcomer.bits.holds_of, std::set<std::uint32_t>{3});
  EXPECT_EQ(member.bits.alone_from, 0u);
  EXPECT_EQ(newcomer.bits.alone_from, 0u);
}

}  // namespace
}  // namespace muster
