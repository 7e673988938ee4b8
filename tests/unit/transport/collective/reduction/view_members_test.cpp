#include "transport/collective/reduction/view_members.hpp"

#include <gtest/gtest.h>

#include "tests/unit/transport/collective/reduction/reduction_shapes.hpp"

namespace {

using namespace muster;
using muster::testing::small_view;

// Member 1 of three, in round 4.
class ViewMembersTest : public ::testing::Test {
 protected:
  // Of member 2.
  Frame frame() const {
    Frame frame;
    frame.view = shape_.view;
    frame.from = 12;
    frame.incarnation = 1002;
    frame.round = 4;
    frame.bytes = 99;
    return frame;
  }

  ReductionShape shape_ = small_view(3, 1, 1);
  ViewMembers members_{shape_};
};

TEST_F(ViewMembersTest, AreFoundByTheirPeer) {
  EXPECT_EQ(members_.peers(), (std::vector<PeerId>{10, 11, 12}));
  EXPECT_EQ(members_.others(), (std::vector<PeerId>{10, 12}));
  EXPECT_EQ(members_.place_of(12), std::optional<std::uint32_t>(2));
  EXPECT_FALSE(members_.place_of(13));
}

TEST_F(ViewMembersTest, AFrameOfAMemberNamesItsPlace) {
  const auto received = members_.received(frame(), 4);
  ASSERT_TRUE(received);
  EXPECT_EQ(received->from, 2u);
  EXPECT_EQ(received->bytes, 99u);
  EXPECT_TRUE(members_.received(frame(), 3)) << "members are at most one round apart";
}

TEST_F(ViewMembersTest, WhatBelongsToNoneOfTheTwoRoundsIsNothing) {
  EXPECT_FALSE(members_.received(frame(), 5)) << "of a round that is over";
  EXPECT_FALSE(members_.received(frame(), 2)) << "two rounds ahead";
}

TEST_F(ViewMembersTest, WhatIsNotOfAMemberAsItLivesInThisViewIsNothing) {
  Frame old_view = frame(), dead = frame(), stranger = frame(), own = frame();
  --old_view.view;
  --dead.incarnation;
  stranger.from = 13;
  own.from = 11;
  own.incarnation = 1001;
  for (const Frame& each : {old_view, dead, stranger, own}) EXPECT_FALSE(members_.received(each, 4));
}

}  // namespace
