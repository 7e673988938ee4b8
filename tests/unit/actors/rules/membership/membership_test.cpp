#include <gtest/gtest.h>

#include "tests/unit/actors/rules/membership/membership_in_view.hpp"
#include "transport/frame.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

// A run of two replicas whose only loader is lost, and that have closed the view.
Membership without_loaders(OnLoaderLoss policy, bool replica1_reads, View& view) {
  Job job = job_of(2, 1);
  job.cluster.on_loader_loss = policy;
  Membership membership(job);
  for (const NodeName& name : {kReplica0, kReplica1, kLoader0}) {
    EXPECT_EQ(membership.join(join_of(name)).refusal, "");
    Prepared prepared;
    prepared.name = name;
    prepared.loads = name != kReplica1 || replica1_reads;
    EXPECT_EQ(membership.prepared(prepared), "");
  }
  view = membership.first_view();
  membership.entered(view);
  EXPECT_TRUE(membership.any_loader());
  membership.lost(kLoader0);
  EXPECT_FALSE(membership.any_loader());
  membership.begin_close();
  for (const NodeName& name : {kReplica0, kReplica1}) membership.closed({name, view.number, 4, 4});
  return membership;
}

TEST(Membership, ReplicasLoadForThemselvesIfTheJobSaysSoAndAllCan) {
  View view;
  EXPECT_EQ(without_loaders(OnLoaderLoss::wait, true, view).next_view(view).missing, "a loader process");
  EXPECT_EQ(without_loaders(OnLoaderLoss::fail, true, view).next_view(view).missing, "a loader process");
  const auto next = without_loaders(OnLoaderLoss::load_here, true, view).next_view(view);
  ASSERT_TRUE(next.view) << next.missing;
  EXPECT_TRUE(next.view->loaders.empty());
  EXPECT_EQ(next.view->replicas.size(), 2u);
  EXPECT_EQ(without_loaders(OnLoaderLoss::load_here, false, view).next_view(view).missing,
            "a loader process, for replica 1 cannot read the data itself");
}

TEST(Membership, RefusesAnotherProtocolAStrangerAndASecondOne) {
  Membership membership(job_of(2, 0));
  Join old = join_of(kReplica0);
  old.protocol = kProtocolVersion + 1;
  EXPECT_NE(membership.join(old).refusal.find("protocol version"), std::string::npos);
  EXPECT_NE(membership.join(join_of(kReplica2)).refusal.find("the run has no replica 2"), std::string::npos);
  EXPECT_NE(membership.join(join_of(kLoader0)).refusal.find("the run has no loader 0"), std::string::npos);
  EXPECT_FALSE(membership.alive(kReplica0)) << "a refusal changes nothing";
  EXPECT_EQ(membership.join(join_of(kReplica0)).refusal, "");
  EXPECT_NE(membership.join(join_of(kReplica0)).refusal.find("has joined already, as process 100"),
            std::string::npos);
  EXPECT_EQ(membership.at(kReplica0).incarnation, 7000u);
}

TEST(Membership, StagesAreReachedByAll) {
  Membership membership = joined_membership(2, 1);
  EXPECT_TRUE(membership.all(NodeStage::joined));
  EXPECT_EQ(membership.prepared(prepared_of(kReplica0)), "");
  EXPECT_EQ(membership.prepared(prepared_of(kLoader0)), "");
  EXPECT_FALSE(membership.all(NodeStage::prepared));
  EXPECT_EQ(membership.behind(NodeStage::prepared), "replica 1");
  EXPECT_EQ(membership.prepared(prepared_of(kReplica1)), "");
  EXPECT_TRUE(membership.all(NodeStage::prepared));
  for (const NodeName& name : {kReplica0, kReplica1}) membership.installed(name);
  EXPECT_TRUE(membership.all(NodeStage::installed, true));
  EXPECT_FALSE(membership.all(NodeStage::installed));
  EXPECT_EQ(membership.behind(NodeStage::installed), "loader 0");
}

TEST(Membership, OtherWeightsOrOtherDataAreSaid) {
  Membership membership = joined_membership(2, 2);
  membership.prepared(prepared_of(kReplica0));
  Prepared other = prepared_of(kReplica1);
  other.state_sha256 = "bb";
  const std::string weights = membership.prepared(other);
  EXPECT_NE(weights.find("replica 1 begins with other weights than replica 0"), std::string::npos) << weights;
  membership.prepared(prepared_of(kLoader0));
  Prepared reader = prepared_of({true, 1});
  reader.facts.fingerprint = "else";
  EXPECT_NE(membership.prepared(reader).find("loader 1 reads other data than loader 0"), std::string::npos);
}

TEST(Membership, AnotherModelFileIsSaid) {
  Membership membership = joined_membership(2, 0);
  Prepared one = prepared_of(kReplica0), other = prepared_of(kReplica1);
  one.model_sha256 = "aa";
  other.model_sha256 = "bb";
  EXPECT_EQ(membership.prepared(one), "");
  const std::string said = membership.prepared(other);
  EXPECT_NE(said.find("replica 1 has another model.file or model.library than replica 0 (SHA-256 bb and aa)"),
            std::string::npos)
      << said;
}

TEST(Membership, OtherBitsOfTheProbeAreRefusedUnlessLooseIsAskedFor) {
  for (const auto reproducible : {Reproducible::strict, Reproducible::loose}) {
    Job job = job_of(2, 0);
    job.cluster.reproducible = reproducible;
    Membership membership(job);
    for (const NodeName& who : {kReplica0, kReplica1}) membership.join(join_of(who));
    Prepared prepared = prepared_of(kReplica0);
    prepared.probe_sha256 = "aa";
    EXPECT_EQ(membership.prepared(prepared), "");
    EXPECT_EQ(membership.other_bits(kReplica0), "");
    prepared = prepared_of(kReplica1);
    prepared.probe_sha256 = "bb";
    const std::string refusal = membership.prepared(prepared);
    EXPECT_EQ(refusal.empty(), reproducible == Reproducible::loose) << refusal;
    EXPECT_NE(membership.other_bits(kReplica1).find("replica 1 computes other bits than replica 0"),
              std::string::npos);
  }
}

TEST(Membership, WhatTwoComputeWithIsSaidWhereTheirBitsDiffer) {
  for (const std::string mine : {"AMD EPYC, libtorch 2", "Intel Xeon, libtorch 1"}) {
    Membership membership = joined_membership(2, 0);
    Prepared one = prepared_of(kReplica0), other = prepared_of(kReplica1);
    one.computes_with = "Intel Xeon, libtorch 1";
    one.probe_sha256 = "aa";
    other.computes_with = mine;
    other.probe_sha256 = "bb";
    EXPECT_EQ(membership.prepared(one), "");
    const std::string said = membership.prepared(other);
    const bool same = one.computes_with == other.computes_with;
    const std::string wanted =
        same ? "both compute with Intel Xeon, libtorch 1: is a library"
             : "replica 1 computes with AMD EPYC, libtorch 2; replica 0 with Intel Xeon, libtorch 1.";
    EXPECT_NE(said.find(wanted), std::string::npos) << said;
    EXPECT_EQ(said.find("OPENBLAS_CORETYPE=Haswell") == std::string::npos, same) << said;
  }
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
  EXPECT_EQ(membership.at(kReplica0).last_step, 3u);
  membership.heard({kReplica2, 3});  // a stranger
  EXPECT_EQ(membership.nodes().size(), 2u);
}

// The order in which replicas come is chance; what they add up within a host is not to depend on it.
TEST(Membership, ReplicasOfOneHostHoldNeighbouringShards) {
  Job job = job_of(5, 2);
  Membership membership(job);
  const char* const hosts[] = {"a", "b", "c", "a", "b"};
  for (std::uint32_t slot = 0; slot < 5; ++slot) {
    membership.join(join_of({false, slot}));
    Prepared prepared = prepared_of({false, slot});
    prepared.host = hosts[slot];
    EXPECT_EQ(membership.prepared(prepared), "");
  }
  for (std::uint32_t slot = 0; slot < 2; ++slot) {
    membership.join(join_of({true, slot}));
    Prepared prepared = prepared_of({true, slot});
    prepared.host = slot == 0 ? "c" : "a";
    EXPECT_EQ(membership.prepared(prepared), "");
  }
  const View view = membership.first_view();
  std::vector<std::uint32_t> slots, begins;
  for (const Member& member : view.replicas) {
    slots.push_back(member.name.slot);
    begins.push_back(member.begin);
  }
  EXPECT_EQ(slots, (std::vector<std::uint32_t>{0, 3, 1, 4, 2}));
  EXPECT_EQ(begins, (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(view.loaders.front().name, kLoader0) << "loaders are in the order of their numbers";
}

TEST(Membership, SumsLieOnGpusWhereAllReplicasSaySo) {
  for (const std::uint32_t without : {0u, 1u, 2u, 3u}) {
    Membership membership = joined_membership(3, 1);
    for (const auto& [name, record] : std::map(membership.nodes())) {
      Prepared prepared = prepared_of(name);
      prepared.sums_on_gpu = !name.loader && name.slot != without;
      EXPECT_EQ(membership.prepared(prepared), "");
    }
    EXPECT_EQ(membership.first_view().sums_on_gpus, without == 3) << "all but " << without;
  }
}

TEST(Membership, WhoseDataPlaneStandsStillHoldsUpTheOthers) {
  View view;
  Membership membership = membership_in_view(3, 0, view);
  const auto open = membership.begin_close();
  ASSERT_EQ(open.size(), 3u);
  const std::chrono::milliseconds patience(1000);
  EXPECT_EQ(membership.holds_up(open, patience), kReplica2) << "nothing tells them apart";
  Heartbeat still;
  still.name = kReplica1;
  still.still_ms = 1000;
  membership.heard(still);
  EXPECT_EQ(membership.holds_up(open, patience), kReplica1);
  EXPECT_EQ(membership.holds_up({kReplica2}, patience), kReplica1)
      << "it has done all that it owes, but one report";
  still.still_ms = 0;
  membership.heard(still);
  EXPECT_EQ(membership.holds_up(open, patience), kReplica1) << "it did, when the others needed it";
  ++view.number;
  membership.entered(view);
  EXPECT_EQ(membership.holds_up(open, patience), kReplica2);
}

TEST(Membership, WhoHasNotJoinedIsNotAlive) {
  Membership membership(job_of(2, 0));
  EXPECT_TRUE(membership.none_alive());
}

TEST(Membership, LifeEndsByLeavingOrBeingLost) {
  Membership membership = joined_membership(2, 0);
  membership.left(kReplica0);
  EXPECT_FALSE(membership.alive(kReplica0));
  EXPECT_FALSE(membership.none_alive());
  membership.lost(kReplica1);
  EXPECT_TRUE(membership.none_alive());
}

TEST(Membership, FirstViewDealsAllShardsOnce) {
  Membership membership = joined_membership(3, 2);
  for (const auto& [name, record] : std::map(membership.nodes())) membership.prepared(prepared_of(name));
  const View view = membership.first_view();
  EXPECT_EQ(view.number, 1u);
  ASSERT_EQ(view.replicas.size(), 3u);
  ASSERT_EQ(view.loaders.size(), 2u);
  std::uint32_t next = 0;
  for (const Member& member : view.replicas) {
    EXPECT_EQ(member.begin, next);
    EXPECT_GT(member.end, member.begin);
    EXPECT_EQ(member.address, "at " + member.name.text());
    EXPECT_EQ(member.incarnation, 7000u + member.name.slot);
    next = member.end;
  }
  EXPECT_EQ(next, 5u);
  EXPECT_EQ(view.facts.samples, 99) << "facts come from whoever reads the data";
  EXPECT_EQ(view.loader_of(0).name, kLoader0);
  EXPECT_EQ(view.loader_of(1).name.slot, 1u);
  EXPECT_EQ(view.loader_of(2).name, kLoader0);
  EXPECT_EQ(membership.shards_of(kReplica0), "0-1");
  EXPECT_EQ(membership.shards_of(kReplica2), "4-4");
  EXPECT_EQ(membership.shards_of(kLoader0), "-");
}

// ---- views that change

void close_all(Membership& membership, const View& view, std::uint64_t records) {
  for (const NodeName& name : membership.begin_close())
    membership.closed({name, view.number, name.loader ? 0 : records, records});
}

TEST(Membership, ANewcomerGetsTheNextNumberAndNeverOneThatWasUsed) {
  View view;
  Membership membership = membership_in_view(2, 0, view);
  membership.lost(kReplica1);
  EXPECT_EQ(newcomer(membership).slot, 2u);
  EXPECT_EQ(newcomer(membership).slot, 3u);
  Join loader = join_of({true, 0});
  loader.joins = true;
  EXPECT_NE(membership.join(loader).refusal.find("no loader processes"), std::string::npos);
}

TEST(Membership, ANewcomerIsFedByAMemberAndIsNoMemberBefore) {
  View view;
  Membership membership = membership_in_view(2, 0, view);
  const NodeName name = newcomer(membership);
  ASSERT_EQ(membership.hungry(), std::vector{name});
  ASSERT_TRUE(membership.donor());
  EXPECT_EQ(membership.donor()->name, kReplica1) << "not the one that speaks for all";
  membership.fed(name, *membership.donor());
  EXPECT_TRUE(membership.hungry().empty());
  EXPECT_FALSE(membership.member(name));
  membership.lost(kReplica1);
  EXPECT_EQ(membership.hungry(), std::vector{name}) << "its donor is lost: it begins again";
}

TEST(Membership, ANewcomerIsTakenInWithWhatItMissesIfThatIsKept) {
  for (const std::uint64_t has : {7u, 9u, 10u}) {
    View view;
    Membership membership = membership_in_view(2, 0, view);
    const NodeName name = newcomer(membership);
    membership.fed(name, *membership.donor());
    membership.caught_up({name, view.number, 5});
    for (const NodeName& member : membership.begin_close())
      membership.closed({member, view.number, member == name ? has : 10, member == kReplica1 ? 9ull : 10ull});
    ASSERT_TRUE(membership.all(NodeStage::closed));
    const auto next = membership.next_view(view);
    ASSERT_TRUE(next.view) << next.missing;
    EXPECT_EQ(next.view->records, 10u);
    EXPECT_EQ(next.view->donor, 1u) << "it can go back furthest";
    EXPECT_EQ(next.view->holds(name), has >= 9u - 1) << has;
    EXPECT_EQ(next.view->behind.size(), has == 9 ? 1u : 0u);
  }
}

TEST(Membership, AViewTellsSinceWhichOneEachIsAMember) {
  View view;
  Membership membership = membership_in_view(2, 0, view);
  for (const Member& member : view.replicas) EXPECT_EQ(member.since, 1u);
  const NodeName name = newcomer(membership);
  membership.fed(name, *membership.donor());
  membership.caught_up({name, view.number, 5});
  for (int change = 0; change < 2; ++change) {
    close_all(membership, view, 5);
    const auto next = membership.next_view(view);
    ASSERT_TRUE(next.view);
    view = *next.view;
    membership.entered(view);
    for (const Member& member : view.replicas) EXPECT_EQ(member.since, member.name == name ? 2u : 1u);
  }
}

TEST(Membership, ANewcomerThatIsAheadOfAllMembersIsNotTakenIn) {
  View view;
  Membership membership = membership_in_view(2, 0, view);
  const NodeName name = newcomer(membership);
  membership.fed(name, *membership.donor());
  membership.caught_up({name, view.number, 10});
  membership.lost(kReplica1);  // its donor, and the only one that held record 10
  for (const NodeName& member : membership.begin_close())
    membership.closed({member, view.number, member == name ? 10ull : 9ull, 9});
  const auto next = membership.next_view(view);
  ASSERT_TRUE(next.view);
  EXPECT_EQ(next.view->records, 9u);
  EXPECT_FALSE(next.view->holds(name));
  membership.entered(*next.view);
  EXPECT_EQ(membership.hungry(), std::vector{name});
}

TEST(Membership, ANewcomerThatClosesTheViewWithItsMembersDoesNotGiveItsState) {
  View view;
  Membership membership = membership_in_view(1, 0, view);
  const NodeName name = newcomer(membership);
  membership.fed(name, *membership.donor());
  membership.caught_up({name, view.number, 5});
  close_all(membership, view, 5);
  EXPECT_EQ(membership.donor()->name, kReplica0);
  membership.leaving(kReplica0);
  ASSERT_TRUE(membership.next_view(view).view);
  EXPECT_TRUE(membership.next_view(view).view->holds(kReplica0)) << "it alone has the state";
  membership.lost(kReplica0);
  EXPECT_FALSE(membership.donor());
}

// Its state is a member's; nobody else has one.
TEST(Membership, NewcomersThatWereGivenTheStateGoOnWhereNoMemberIsLeft) {
  View view;
  Membership membership = membership_in_view(2, 0, view);
  std::vector<NodeName> newcomers;
  for (const std::uint64_t records : {8u, 7u}) {
    newcomers.push_back(newcomer(membership));
    membership.fed(newcomers.back(), *membership.donor());
    if (records == 8) membership.caught_up({newcomers.back(), view.number, records});
  }
  membership.begin_close();
  for (const NodeName& name : {kReplica0, kReplica1}) membership.lost(name);
  membership.closed({newcomers[0], view.number, 8, 9});
  ASSERT_TRUE(membership.all(NodeStage::closed));
  const auto next = membership.next_view(view);
  ASSERT_TRUE(next.view) << next.missing;
  EXPECT_EQ(next.view->records, 8u);
  EXPECT_EQ(next.view->donor, newcomers[0].slot);
  EXPECT_TRUE(next.view->holds(newcomers[0]));
  EXPECT_FALSE(next.view->holds(newcomers[1])) << "it was given nothing yet";
  membership.lost(newcomers[0]);
  EXPECT_EQ(membership.next_view(view).missing, "no replica that holds the state is left");
}

TEST(Membership, TheLastOneThatLeavesGivesItsStateFirst) {
  View view;
  Membership membership = membership_in_view(1, 0, view);
  newcomer(membership);
  membership.leaving(kReplica0);
  close_all(membership, view, 5);
  const auto alone = membership.next_view(view);
  ASSERT_TRUE(alone.view);
  EXPECT_TRUE(alone.view->holds(kReplica0));
  membership.entered(*alone.view);
  ASSERT_TRUE(membership.donor());
  EXPECT_EQ(membership.donor()->name, kReplica0);
  EXPECT_FALSE(membership.may_let_go()) << "nobody else has the state";
}

TEST(Membership, AMemberThatMissesMoreThanTheRestKeepBeginsAgain) {
  View view;
  Membership membership = membership_in_view(3, 0, view);
  const NodeName name = newcomer(membership);
  membership.fed(name, *membership.donor());
  membership.caught_up({name, view.number, 5});
  for (const NodeName& member : membership.begin_close())
    membership.closed({member, view.number, member == name ? 5ull : 8ull, member == kReplica2 ? 4ull : 8ull});
  const auto with_it = membership.next_view(view);
  ASSERT_TRUE(with_it.view);
  EXPECT_TRUE(with_it.view->holds(name)) << "replica 2 sends what it misses";
  membership.entered(*with_it.view);
  membership.lost(kReplica2);  // before it did
  for (const NodeName& member : membership.begin_close())
    membership.closed(
        {member, with_it.view->number, member == name ? 5ull : 8ull, member == name ? 5ull : 8ull});
  const auto without = membership.next_view(*with_it.view);
  ASSERT_TRUE(without.view) << without.missing;
  EXPECT_EQ(without.view->records, 8u);
  EXPECT_FALSE(without.view->holds(name)) << "nobody can send record 6";
  membership.entered(*without.view);
  EXPECT_EQ(membership.hungry(), std::vector{name});
}

TEST(Membership, WhoAskedToLeaveIsNotInTheNextView) {
  View view;
  Membership membership = membership_in_view(3, 0, view);
  membership.leaving(kReplica0);
  close_all(membership, view, 4);
  const auto next = membership.next_view(view);
  ASSERT_TRUE(next.view);
  EXPECT_FALSE(next.view->holds(kReplica0));
  EXPECT_EQ(next.view->replicas.size(), 2u);
  membership.entered(*next.view);
  EXPECT_TRUE(membership.hungry().empty()) << "it does not come back by itself";
}

TEST(Membership, TheLastViewHoldsAllWhoAreLeftHoweverFewAndThoughTheyLeave) {
  View view;
  Membership membership = membership_in_view(3, 1, view);
  EXPECT_FALSE(membership.all_leave());
  membership.leaving(kReplica0);
  membership.lost(kReplica2);
  membership.lost(kLoader0);
  EXPECT_FALSE(membership.all_leave());
  membership.leaving(kReplica1);
  EXPECT_TRUE(membership.all_leave()) << "a lost one is not asked";
  close_all(membership, view, 4);
  EXPECT_FALSE(membership.next_view(view).view);
  const auto last = membership.last_view(view);
  ASSERT_TRUE(last.view);
  EXPECT_TRUE(last.view->last);
  EXPECT_EQ(last.view->replicas.size(), 2u);
  EXPECT_EQ(last.view->records, 4u);
  EXPECT_TRUE(membership.at(kReplica0).leaving) << "nothing is forgotten";
}

TEST(Membership, WithTooFewReplicasOrWithoutLoaderThereIsNoView) {
  Job job = job_of(2, 0);
  job.cluster.min_replicas = 2;
  Membership membership(job);
  for (const NodeName& name : {kReplica0, kReplica1}) {
    membership.join(join_of(name));
    membership.prepared(prepared_of(name));
  }
  const View view = membership.first_view();
  membership.entered(view);
  membership.lost(kReplica1);
  close_all(membership, view, 4);
  EXPECT_NE(membership.next_view(view).missing.find("1 more replicas"), std::string::npos);

  View loaded;
  Membership with_loader = membership_in_view(2, 1, loaded);
  with_loader.lost(kLoader0);
  close_all(with_loader, loaded, 4);
  EXPECT_EQ(with_loader.next_view(loaded).missing, "a loader process");
  newcomer(with_loader, true);
  const auto next = with_loader.next_view(loaded);
  ASSERT_TRUE(next.view);
  EXPECT_EQ(next.view->loaders.front().name.slot, 1u);
}

}  // namespace
}  // namespace muster
