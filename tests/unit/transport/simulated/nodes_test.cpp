#include "transport/simulated/nodes.hpp"

#include <gtest/gtest.h>

namespace {

using muster::simulated::Link;
using muster::simulated::Node;
using muster::simulated::Nodes;
using muster::simulated::other_side;

TEST(SimulatedNodes, ANameMayBeUsedAgainWhenItsNodeIsGone) {
  Nodes nodes;
  Node& first = nodes.attach("a");
  EXPECT_EQ(nodes.live("a"), &first);
  EXPECT_DEATH(nodes.attach("a"), "a node of this name lives");
  first.alive = false;
  EXPECT_EQ(nodes.live("a"), nullptr);
  Node& second = nodes.attach("a");
  EXPECT_EQ(nodes.live("a"), &second);
  EXPECT_NE(first.address, second.address);
  EXPECT_EQ(nodes.at(first.address), &first) << "a stale address still names the dead one";
  EXPECT_EQ(nodes.at(second.address), &second);
}

TEST(SimulatedNodes, AreNumberedInTheirOrder) {
  Nodes nodes;
  EXPECT_EQ(nodes.attach("b").number, 0u);
  EXPECT_EQ(nodes.attach("a").number, 1u);
  EXPECT_EQ(nodes.attach("c").number, 2u);
  EXPECT_EQ(nodes.live("d"), nullptr);
  EXPECT_EQ(nodes.at("nobody"), nullptr);
}

TEST(SimulatedNodes, OnlyAPausedOneKeepsEventsUntilThePauseEnds) {
  Nodes nodes;
  Node& node = nodes.attach("a");
  int happened = 0;
  const auto event = [&happened] { ++happened; };
  EXPECT_FALSE(node.waits(event)) << "it runs";
  node.paused = true;
  const Link arriving;
  EXPECT_TRUE(node.waits(event, &arriving));
  ASSERT_EQ(node.waiting.size(), 1u);
  EXPECT_EQ(node.waiting[0].arriving, &arriving);
  node.waiting[0].event();
  EXPECT_EQ(happened, 1);
  node.alive = false;
  EXPECT_FALSE(node.waits(event)) << "it is gone";
  EXPECT_EQ(node.waiting.size(), 1u);
}

TEST(SimulatedNodes, WithoutANetworkNothingWaitsForAPause) {
  Nodes nodes;
  Node& node = nodes.attach("a");
  node.paused = true;
  node.waits([] {});
  nodes.end_pauses();
  EXPECT_FALSE(node.paused);
  EXPECT_TRUE(node.waiting.empty());
}

TEST(SimulatedNodes, TheNthConnectionBelongsToTheNthOfTheOtherSide) {
  Nodes nodes;
  Node& a = nodes.attach("a");
  Node& b = nodes.attach("b");
  const auto link = [](Node& owner, Node& remote, std::uint32_t sequence) {
    auto made = std::make_shared<Link>();
    made->owner = &owner;
    made->remote = &remote;
    made->sequence = sequence;
    remote.inbound[{owner.number, sequence}] = made;
    return made;
  };
  const auto a_first = link(a, b, 1), a_second = link(a, b, 2), b_second = link(b, a, 2);
  EXPECT_EQ(other_side(*a_first), nullptr) << "the other side has let go of it";
  EXPECT_EQ(other_side(*a_second), b_second);
  EXPECT_EQ(other_side(*b_second), a_second);
}

}  // namespace
