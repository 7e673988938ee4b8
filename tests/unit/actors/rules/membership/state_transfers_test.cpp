// Newcomers, and the members that give them their state.
#include "actors/rules/membership/state_transfers.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/rules/membership/membership_in_view.hpp"

namespace muster {
namespace {

TEST(StateTransfers, ANewcomerIsFedByAMemberAndIsNoMemberBefore) {
  View view;
  Membership membership = membership_in_view(2, 0, view);
  const NodeName name = newcomer(membership);
  ASSERT_EQ(membership.transfers().without_donor(), std::vector{name});
  ASSERT_TRUE(membership.transfers().donor());
  EXPECT_EQ(membership.transfers().donor()->name, kReplica1) << "not the one that speaks for all";
  membership.transfers().began(name, *membership.transfers().donor());
  EXPECT_TRUE(membership.transfers().without_donor().empty());
  EXPECT_FALSE(membership.member(name));
  membership.lost(kReplica1);
  EXPECT_EQ(membership.transfers().without_donor(), std::vector{name})
      << "its donor is lost: it begins again";
}

TEST(StateTransfers, ANewcomerThatClosesTheViewWithItsMembersDoesNotGiveItsState) {
  View view;
  Membership membership = membership_in_view(1, 0, view);
  const NodeName name = newcomer(membership);
  membership.transfers().began(name, *membership.transfers().donor());
  membership.transfers().caught_up({name, view.number, 5});
  close_all(membership, view, 5);
  EXPECT_EQ(membership.transfers().donor()->name, kReplica0);
  membership.leaving(kReplica0);
  ASSERT_TRUE(membership.views().next(view).view);
  EXPECT_TRUE(membership.views().next(view).view->holds(kReplica0)) << "it alone has the state";
  membership.lost(kReplica0);
  EXPECT_FALSE(membership.transfers().donor());
}

TEST(StateTransfers, OneThatHangsGivesNewcomersNothingIfAnotherCan) {
  View view;
  Membership membership = membership_in_view(2, 0, view, 2);
  ASSERT_EQ(membership.transfers().donor()->name, kReplica1);
  EXPECT_TRUE(membership.transfers().pass_over(kReplica1));
  EXPECT_FALSE(membership.transfers().pass_over(kReplica1)) << "it is known";
  ASSERT_TRUE(membership.transfers().donor());
  EXPECT_EQ(membership.transfers().donor()->name, kReplica0);
  EXPECT_TRUE(membership.transfers().pass_over(kReplica0)) << "the other may have gone on";
  EXPECT_EQ(membership.transfers().donor()->name, kReplica1);
  Heartbeat prepared;
  for (const NodeName& name : {kReplica0, kReplica1}) {
    prepared.name = name;
    prepared.step = 7;
    membership.heard(prepared);
  }
  EXPECT_EQ(membership.transfers().donor()->name, kReplica1) << "they have gone on";
  EXPECT_TRUE(membership.transfers().pass_over(kReplica1)) << "it hangs again";
}

TEST(StateTransfers, OneThatLeavesGivesTheStateBeforeOneThatHangs) {
  View view;
  Membership membership = membership_in_view(3, 0, view, 2);
  ASSERT_EQ(membership.transfers().donor()->name, kReplica2);
  ASSERT_TRUE(membership.transfers().pass_over(kReplica2));
  ASSERT_TRUE(membership.transfers().pass_over(kReplica1));
  membership.leaving(kReplica0);
  ASSERT_TRUE(membership.transfers().donor());
  EXPECT_EQ(membership.transfers().donor()->name, kReplica0);
}

TEST(StateTransfers, ADonorIsToldWhichNewcomersAreItsOwn) {
  View view;
  Membership membership = membership_in_view(2, 0, view);
  StateTransfers& transfers = membership.transfers();
  const NodeName one = newcomer(membership), other = newcomer(membership);
  transfers.began(one, membership.member_of(kReplica1));
  transfers.began(other, membership.member_of(kReplica0));
  EXPECT_EQ(transfers.newcomers_of(kReplica1, 1), std::vector{one});
  EXPECT_EQ(transfers.no_longer_of(kReplica1), std::vector{other}) << "it may have been, before";
  EXPECT_TRUE(transfers.has_donor(one, 1));
  EXPECT_FALSE(transfers.has_donor(one, 2)) << "the donor is in view 1";
  EXPECT_EQ(transfers.waiting_for(kReplica1), std::vector{one});
  transfers.caught_up({one, 1, 5});
  EXPECT_TRUE(transfers.waiting_for(kReplica1).empty()) << "it has the state";
  EXPECT_EQ(transfers.newcomers_of(kReplica1, 1), std::vector{one});
  membership.lost(one);
  EXPECT_EQ(transfers.no_longer_of(kReplica1), (std::vector{one, other}));
}

TEST(StateTransfers, ADonorThatHasToBeginAgainCountsForNone) {
  View view;
  Membership membership = membership_in_view(2, 0, view);
  StateTransfers& transfers = membership.transfers();
  const NodeName name = newcomer(membership);
  transfers.began(name, *transfers.donor());
  EXPECT_TRUE(transfers.without_donor().empty());
  transfers.to_begin_again(name);
  EXPECT_EQ(transfers.without_donor(), std::vector{name});
  EXPECT_TRUE(transfers.has_donor(name)) << "that one is to be told";
  transfers.began(name, *transfers.donor());
  EXPECT_TRUE(transfers.without_donor().empty());
}

TEST(StateTransfers, NewcomersAreCountedByWhatTheyHave) {
  View view;
  Membership membership = membership_in_view(2, 0, view);
  StateTransfers& transfers = membership.transfers();
  const NodeName one = newcomer(membership), other = newcomer(membership);
  EXPECT_EQ(transfers.newcomers(NodeStage::prepared), 2u);
  EXPECT_EQ(list_of(transfers.without_state()), "replica 2, replica 3");
  EXPECT_FALSE(transfers.any_caught_up());
  transfers.began(one, *transfers.donor());
  transfers.caught_up({one, 1, 5});
  EXPECT_TRUE(transfers.any_caught_up());
  EXPECT_EQ(transfers.newcomers(NodeStage::caught_up), 1u);
  EXPECT_EQ(list_of(transfers.without_state()), "replica 3");
  membership.leaving(other);
  EXPECT_EQ(transfers.newcomers(NodeStage::prepared), 1u) << "it does not stay";
  EXPECT_TRUE(transfers.without_state().empty());
}

}  // namespace
}  // namespace muster
