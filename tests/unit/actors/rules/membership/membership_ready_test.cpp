// Who is ready when a run begins, and who still has to come; what is known of its end.
#include <gtest/gtest.h>

#include "tests/unit/actors/rules/membership/membership_in_view.hpp"

namespace muster {
namespace {

TEST(Membership, TheFirstViewIsOfThoseWhoAreReady) {
  Membership membership = joined_membership(2, 1);
  EXPECT_EQ(membership.prepared(prepared_of(kReplica0)), "");
  EXPECT_EQ(membership.prepared(prepared_of(kLoader0)), "");
  EXPECT_EQ(membership.missing_to_begin(), "");
  EXPECT_FALSE(membership.full()) << "replica 1 has joined, and is not ready";
  newcomer(membership);
  EXPECT_TRUE(membership.full()) << "a third one is ready before replica 1";
  const View view = membership.first_view();
  ASSERT_EQ(view.replicas.size(), 2u);
  EXPECT_EQ(view.replicas.back().name, kReplica2);
  membership.entered(view);
  EXPECT_TRUE(membership.hungry().empty());
  EXPECT_EQ(membership.prepared(prepared_of(kReplica1)), "");
  EXPECT_EQ(membership.hungry(), std::vector{kReplica1}) << "it comes as a newcomer";
}

TEST(Membership, WhatIsMissingToBeginIsSaid) {
  Job job = job_of(3, 1);
  job.cluster.min_replicas = 2;
  job.cluster.on_loader_loss = OnLoaderLoss::load_here;
  Membership membership(job);
  const auto comes = [&](const NodeName& name, bool reads) {
    membership.join(join_of(name));
    Prepared prepared = prepared_of(name);
    prepared.loads = reads;
    prepared.facts = {};
    EXPECT_EQ(membership.prepared(prepared), "");
  };
  comes(kReplica0, true);
  EXPECT_EQ(membership.missing_to_begin(), "1 more replicas (cluster.min_replicas = 2)");
  comes(kReplica1, false);
  EXPECT_EQ(membership.missing_to_begin(), "a loader process, for replica 1 cannot read the data itself");
  comes(kLoader0, true);
  EXPECT_EQ(membership.missing_to_begin(), "");
}

TEST(Membership, WhoDoesNotGetReadyIsLateAndHoldsBackNobody) {
  View view;
  Membership membership = membership_in_view(1, 0, view);
  Join join = join_of({false, 77});
  join.joins = true;
  const NodeName hangs = membership.join(join).name;
  membership.leaving(kReplica0);
  EXPECT_TRUE(membership.any_prepares());
  EXPECT_TRUE(membership.donor()) << "it may be given the state";
  EXPECT_TRUE(membership.late_to_prepare(2).empty());
  EXPECT_EQ(membership.late_to_prepare(2), std::vector{hangs});
  EXPECT_TRUE(membership.late_to_prepare(2).empty()) << "it is told once";
  EXPECT_FALSE(membership.donor());
  EXPECT_EQ(membership.prepared(prepared_of(hangs)), "");
  EXPECT_TRUE(membership.donor());
}

TEST(Membership, OneThatHangsGivesNewcomersNothingIfAnotherCan) {
  View view;
  Membership membership = membership_in_view(2, 0, view, 2);
  ASSERT_EQ(membership.donor()->name, kReplica1);
  EXPECT_TRUE(membership.gives_nothing(kReplica1));
  EXPECT_FALSE(membership.gives_nothing(kReplica1)) << "it is known";
  ASSERT_TRUE(membership.donor());
  EXPECT_EQ(membership.donor()->name, kReplica0);
  EXPECT_TRUE(membership.gives_nothing(kReplica0)) << "the other may have gone on";
  EXPECT_EQ(membership.donor()->name, kReplica1);
  Heartbeat prepared;
  for (const NodeName& name : {kReplica0, kReplica1}) {
    prepared.name = name;
    prepared.step = 7;
    membership.heard(prepared);
  }
  EXPECT_EQ(membership.donor()->name, kReplica1) << "they have gone on";
  EXPECT_TRUE(membership.gives_nothing(kReplica1)) << "it hangs again";
}

TEST(Membership, OneThatLeavesGivesTheStateBeforeOneThatHangs) {
  View view;
  Membership membership = membership_in_view(3, 0, view, 2);
  ASSERT_EQ(membership.donor()->name, kReplica2);
  ASSERT_TRUE(membership.gives_nothing(kReplica2));
  ASSERT_TRUE(membership.gives_nothing(kReplica1));
  membership.leaving(kReplica0);
  ASSERT_TRUE(membership.donor());
  EXPECT_EQ(membership.donor()->name, kReplica0);
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
  EXPECT_TRUE(membership.trained());
  membership.lost(kReplica0);
  EXPECT_FALSE(membership.trained()) << "the others have to do the last step again";
}

// Others watch over loaders: that a replica waits for a slow one is no standstill of its own.
TEST(Membership, WhoWaitsForALoaderProcessDoesNotStand) {
  for (const std::uint32_t loaders : {0u, 1u}) {
    View view;
    Membership membership = membership_in_view(2, loaders, view);
    Heartbeat waits;
    waits.name = kReplica0;
    waits.activity = static_cast<std::uint32_t>(Activity::loading);
    waits.doing_ms = 5000;
    membership.heard(waits);
    const auto stalled = membership.stalled(std::chrono::seconds(2));
    EXPECT_EQ(stalled, loaders == 0 ? std::vector{kReplica0} : std::vector<NodeName>{});
  }
}

TEST(Membership, WhoseOwnDataPlaneTakesNothingStandsWhateverItWaitsFor) {
  View view;
  Membership membership = membership_in_view(2, 1, view);
  Heartbeat waits;
  waits.name = kReplica0;
  waits.activity = static_cast<std::uint32_t>(Activity::loading);
  waits.doing_ms = waits.still_ms = 5000;
  membership.heard(waits);
  EXPECT_EQ(membership.stalled(std::chrono::seconds(2)), std::vector{kReplica0});
  waits.still_ms = 0;
  membership.heard(waits);
  EXPECT_TRUE(membership.stalled(std::chrono::seconds(2)).empty());
}

}  // namespace
}  // namespace muster
