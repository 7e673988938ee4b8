#include "transport/collective/reduction/member_nodes.hpp"

#include <gtest/gtest.h>

#include "tests/unit/transport/collective/reduction/reduction_shapes.hpp"

namespace {

using namespace muster;
using muster::testing::small_view;

// Four shards: the leaves are 4 to 7, the nodes above them 2 and 3.
TEST(MemberNodes, AreThoseThatCoverTheShardsOfEachMember) {
  const MemberNodes nodes(small_view(2, 2, 0));
  ASSERT_EQ(nodes.size(), 2u);
  const auto first = nodes.of(0), second = nodes.of(1);
  ASSERT_EQ(first.end - first.first, 1u);
  ASSERT_EQ(second.end - second.first, 1u);
  EXPECT_EQ(nodes[first.first].node, 2u);
  EXPECT_EQ(nodes[first.first].member, 0u);
  EXPECT_EQ(nodes[second.first].node, 3u);
  EXPECT_EQ(nodes[second.first].member, 1u);
}

TEST(MemberNodes, LieOneBehindTheOtherWithTheOwnOnesLast) {
  ReductionShape shape = small_view(3, 2, 1);
  shape.members[0].end = 3;  // shards 0 to 2: two nodes
  shape.members[1].begin = 3;
  const MemberNodes nodes(shape);
  std::size_t next = 0;
  for (const std::uint32_t member : {2u, 0u, 1u}) {
    EXPECT_EQ(nodes.of(member).first, next) << member;
    for (next = nodes.of(member).first; next < nodes.of(member).end; ++next)
      EXPECT_EQ(nodes[next].member, member);
  }
  EXPECT_EQ(next, nodes.size());
  EXPECT_EQ(nodes.of(0).end - nodes.of(0).first, 2u);
}

TEST(MemberNodes, AreFoundByTheirNumber) {
  const MemberNodes nodes(small_view(2, 2, 0));
  for (std::size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(nodes.index_of(nodes[i].node), i);
  EXPECT_EQ(nodes.index_of(1), nodes.size()) << "the root is nobody's";
  EXPECT_EQ(nodes.index_of(4), nodes.size()) << "a leaf below a node";
  EXPECT_EQ(nodes.index_of(99), nodes.size());
}

TEST(MemberNodes, KnowTheLeavesBelowANode) {
  const MemberNodes nodes(small_view(2, 2, 0));
  EXPECT_EQ(nodes.leaves(3).begin, 2u);
  EXPECT_EQ(nodes.leaves(3).end, 4u);
}

TEST(MemberNodes, OfAMemberWithoutShardsAreNone) {
  ReductionShape shape = small_view(2, 2, 0);
  shape.members[1].begin = shape.members[1].end = 4;
  const MemberNodes nodes(shape);
  EXPECT_EQ(nodes.of(1).first, nodes.of(1).end);
}

TEST(MemberNodes, AMemberAddsItsOwnAlone) {
  const MemberNodes nodes(small_view(2, 2, 0));
  nodes.check_owned(0, {{2, nullptr}});
  nodes.check_owned(1, {{3, nullptr}});
  EXPECT_DEATH(nodes.check_owned(0, {{3, nullptr}}), "check failed");
  EXPECT_DEATH(nodes.check_owned(0, {{1, nullptr}}), "check failed") << "no member adds this one";
}

}  // namespace
