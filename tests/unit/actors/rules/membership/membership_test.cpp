#include "actors/rules/membership/membership.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/rules/membership/membership_in_view.hpp"

namespace muster {
namespace {

TEST(Membership, StagesAreReachedByAll) {
  Membership membership = joined_membership(2, 1);
  EXPECT_TRUE(membership.all(NodeStage::joined));
  EXPECT_EQ(membership.admission().prepared(prepared_of(kReplica0)), "");
  EXPECT_EQ(membership.admission().prepared(prepared_of(kLoader0)), "");
  EXPECT_FALSE(membership.all(NodeStage::prepared));
  EXPECT_EQ(list_of(nodes_behind(membership.nodes(), NodeStage::prepared)), "replica 1");
  EXPECT_EQ(membership.admission().prepared(prepared_of(kReplica1)), "");
  EXPECT_TRUE(membership.all(NodeStage::prepared));
  for (const NodeName& name : {kReplica0, kReplica1}) membership.installed(name);
  EXPECT_TRUE(membership.all(NodeStage::installed, true));
  EXPECT_FALSE(membership.all(NodeStage::installed));
  EXPECT_EQ(list_of(nodes_behind(membership.nodes(), NodeStage::installed)), "loader 0");
}

TEST(Membership, ReplicasThatEndDifferentlyAreSaid) {
  Membership membership = joined_membership(3, 0);
  ReplicaDone done;
  done.steps = 10;
  done.state_sha256 = "aa";
  EXPECT_EQ(membership.done(done), "");
  done.slot = 1;
  EXPECT_EQ(membership.done(done), "");
  done.slot = 2;
  done.state_sha256 = "bb";
  EXPECT_NE(membership.done(done).find("replica 2 ends step 10 with weights bb"), std::string::npos);
}

TEST(Membership, WhereOtherBitsAreOnlyReportedReplicasMayEndDifferently) {
  Job job = job_of(2, 0);
  job.cluster.on_corruption = OnCorruption::report;
  Membership membership(job);
  EXPECT_EQ(membership.done({0, 10, 70, "aa"}), "");
  EXPECT_EQ(membership.done({1, 10, 70, "bb"}), "");
  EXPECT_NE(membership.done({1, 9, 70, "bb"}), "") << "other steps";
}

// They are lower again where all have gone back.
TEST(Membership, StepsAreThoseOfTheLastHeartbeat) {
  Membership membership = joined_membership(2, 0);
  membership.heard({kReplica0, 5});
  membership.heard({kReplica0, 3});
  EXPECT_EQ(membership.at(kReplica0).last.step, 3u);
  membership.heard({kReplica2, 3});  // a stranger
  EXPECT_EQ(membership.nodes().all().size(), 2u);
}

TEST(Membership, WhoHasNotJoinedIsNotAlive) {
  Membership membership(job_of(2, 0));
  EXPECT_TRUE(membership.nodes().none_alive());
}

TEST(Membership, LifeEndsByLeavingOrBeingLost) {
  Membership membership = joined_membership(2, 0);
  membership.left(kReplica0);
  EXPECT_FALSE(membership.alive(kReplica0));
  EXPECT_FALSE(membership.nodes().none_alive());
  membership.lost(kReplica1);
  EXPECT_TRUE(membership.nodes().none_alive());
}

TEST(Membership, NoRoundIsLeftOnlyIfOneIsThereThatHoldsTheLast) {
  View view;
  Membership membership = membership_in_view(3, 0, view, 3);
  membership.begin_close();
  for (const NodeName& name : {kReplica0, kReplica1, kReplica2}) {
    Closed prepared{name, view.number, name == kReplica0 ? 8u : 7u, 7};
    prepared.trained = name == kReplica0;
    membership.closed(prepared);
  }
  EXPECT_TRUE(all_is_trained(membership.nodes()));
  membership.lost(kReplica0);
  EXPECT_FALSE(all_is_trained(membership.nodes())) << "the others have to do the last step again";
}

}  // namespace
}  // namespace muster
