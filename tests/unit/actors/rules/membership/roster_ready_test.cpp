// Who is ready when a run begins, and who still has to come; what is known of its end.
#include <gtest/gtest.h>

#include "tests/unit/actors/rules/membership/roster_in_view.hpp"

namespace muster {
namespace {

TEST(Roster, TheFirstViewIsOfThoseWhoAreReady) {
  Roster roster = joined_roster(2, 1);
  EXPECT_EQ(roster.prepared(prepared_of(kReplica0)), "");
  EXPECT_EQ(roster.prepared(prepared_of(kLoader0)), "");
  EXPECT_EQ(roster.missing_to_begin(), "");
  EXPECT_FALSE(roster.full()) << "replica 1 has joined, and is not ready";
  newcomer(roster);
  EXPECT_TRUE(roster.full()) << "a third one is ready before replica 1";
  const View view = roster.first_view();
  ASSERT_EQ(view.replicas.size(), 2u);
  EXPECT_EQ(view.replicas.back().name, kReplica2);
  roster.entered(view);
  EXPECT_TRUE(roster.hungry().empty());
  EXPECT_EQ(roster.prepared(prepared_of(kReplica1)), "");
  EXPECT_EQ(roster.hungry(), std::vector{kReplica1}) << "it comes as a newcomer";
}

TEST(Roster, WhatIsMissingToBeginIsSaid) {
  Job job = job_of(3, 1);
  job.cluster.min_replicas = 2;
  job.cluster.on_loader_loss = OnLoaderLoss::load_here;
  Roster roster(job);
  const auto comes = [&](const NodeName& name, bool reads) {
    roster.join(join_of(name));
    Prepared word = prepared_of(name);
    word.loads = reads;
    word.facts = {};
    EXPECT_EQ(roster.prepared(word), "");
  };
  comes(kReplica0, true);
  EXPECT_EQ(roster.missing_to_begin(), "1 more replicas (cluster.min_replicas = 2)");
  comes(kReplica1, false);
  EXPECT_EQ(roster.missing_to_begin(), "a loader process, for replica 1 cannot read the data itself");
  comes(kLoader0, true);
  EXPECT_EQ(roster.missing_to_begin(), "");
}

TEST(Roster, WhoDoesNotGetReadyIsLateAndHoldsBackNobody) {
  View view;
  Roster roster = roster_in_view(1, 0, view);
  Join join = join_of({false, 77});
  join.joins = true;
  const NodeName hangs = roster.join(join).name;
  roster.leaving(kReplica0);
  EXPECT_TRUE(roster.any_prepares());
  EXPECT_TRUE(roster.donor()) << "it may be given the state";
  EXPECT_TRUE(roster.late_to_prepare(2).empty());
  EXPECT_EQ(roster.late_to_prepare(2), std::vector{hangs});
  EXPECT_TRUE(roster.late_to_prepare(2).empty()) << "it is told once";
  EXPECT_FALSE(roster.donor());
  EXPECT_EQ(roster.prepared(prepared_of(hangs)), "");
  EXPECT_TRUE(roster.donor());
}

TEST(Roster, OneThatHangsGivesNewcomersNothingIfAnotherCan) {
  View view;
  Roster roster = roster_in_view(2, 0, view, 2);
  ASSERT_EQ(roster.donor()->name, kReplica1);
  EXPECT_TRUE(roster.gives_nothing(kReplica1));
  EXPECT_FALSE(roster.gives_nothing(kReplica1)) << "it is known";
  ASSERT_TRUE(roster.donor());
  EXPECT_EQ(roster.donor()->name, kReplica0);
  EXPECT_TRUE(roster.gives_nothing(kReplica0)) << "the other may have gone on";
  EXPECT_EQ(roster.donor()->name, kReplica1);
  Heartbeat word;
  for (const NodeName& name : {kReplica0, kReplica1}) {
    word.name = name;
    word.step = 7;
    roster.heard(word);
  }
  EXPECT_EQ(roster.donor()->name, kReplica1) << "they have gone on";
  EXPECT_TRUE(roster.gives_nothing(kReplica1)) << "it hangs again";
}

TEST(Roster, OneThatLeavesGivesTheStateBeforeOneThatHangs) {
  View view;
  Roster roster = roster_in_view(3, 0, view, 2);
  ASSERT_EQ(roster.donor()->name, kReplica2);
  ASSERT_TRUE(roster.gives_nothing(kReplica2));
  ASSERT_TRUE(roster.gives_nothing(kReplica1));
  roster.leaving(kReplica0);
  ASSERT_TRUE(roster.donor());
  EXPECT_EQ(roster.donor()->name, kReplica0);
}

TEST(Roster, NoRoundIsLeftOnlyIfOneIsThereThatHoldsTheLast) {
  View view;
  Roster roster = roster_in_view(3, 0, view, 3);
  roster.begin_close();
  for (const NodeName& name : {kReplica0, kReplica1, kReplica2}) {
    Closed word{name, view.number, name == kReplica0 ? 8u : 7u, 7};
    word.trained = name == kReplica0;
    roster.closed(word);
  }
  EXPECT_TRUE(roster.trained());
  roster.lost(kReplica0);
  EXPECT_FALSE(roster.trained()) << "the others have to do the last step again";
}

// Others watch over loaders: that a replica waits for a slow one is no standstill of its own.
TEST(Roster, WhoWaitsForALoaderProcessDoesNotStand) {
  for (const std::uint32_t loaders : {0u, 1u}) {
    View view;
    Roster roster = roster_in_view(2, loaders, view);
    Heartbeat waits;
    waits.name = kReplica0;
    waits.activity = static_cast<std::uint32_t>(Activity::loading);
    waits.doing_ms = 5000;
    roster.heard(waits);
    const auto standing = roster.standing(std::chrono::seconds(2));
    EXPECT_EQ(standing, loaders == 0 ? std::vector{kReplica0} : std::vector<NodeName>{});
  }
}

TEST(Roster, WhoseOwnDataPlaneTakesNothingStandsWhateverItWaitsFor) {
  View view;
  Roster roster = roster_in_view(2, 1, view);
  Heartbeat waits;
  waits.name = kReplica0;
  waits.activity = static_cast<std::uint32_t>(Activity::loading);
  waits.doing_ms = waits.still_ms = 5000;
  roster.heard(waits);
  EXPECT_EQ(roster.standing(std::chrono::seconds(2)), std::vector{kReplica0});
  waits.still_ms = 0;
  roster.heard(waits);
  EXPECT_TRUE(roster.standing(std::chrono::seconds(2)).empty());
}

}  // namespace
}  // namespace muster
