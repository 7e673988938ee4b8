#include <gtest/gtest.h>

#include "tests/unit/actors/rules/membership/roster_in_view.hpp"
#include "transport/frame.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

// A run of two replicas whose only loader is lost, and that have closed the view.
Roster without_loaders(OnLoaderLoss policy, bool replica1_reads, View& view) {
  Job job = job_of(2, 1);
  job.cluster.on_loader_loss = policy;
  Roster roster(job);
  for (const NodeName& name : {kReplica0, kReplica1, kLoader0}) {
    EXPECT_EQ(roster.join(join_of(name)).refusal, "");
    Prepared prepared;
    prepared.name = name;
    prepared.loads = name != kReplica1 || replica1_reads;
    EXPECT_EQ(roster.prepared(prepared), "");
  }
  view = roster.first_view();
  roster.entered(view);
  EXPECT_TRUE(roster.any_loader());
  roster.lost(kLoader0);
  EXPECT_FALSE(roster.any_loader());
  roster.begin_close();
  for (const NodeName& name : {kReplica0, kReplica1}) roster.closed({name, view.number, 4, 4});
  return roster;
}

TEST(Roster, ReplicasLoadForThemselvesIfTheJobSaysSoAndAllCan) {
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

TEST(Roster, RefusesAnotherProtocolAStrangerAndASecondOne) {
  Roster roster(job_of(2, 0));
  Join old = join_of(kReplica0);
  old.protocol = kProtocolVersion + 1;
  EXPECT_NE(roster.join(old).refusal.find("protocol version"), std::string::npos);
  EXPECT_NE(roster.join(join_of(kReplica2)).refusal.find("the run has no replica 2"), std::string::npos);
  EXPECT_NE(roster.join(join_of(kLoader0)).refusal.find("the run has no loader 0"), std::string::npos);
  EXPECT_FALSE(roster.alive(kReplica0)) << "a refusal changes nothing";
  EXPECT_EQ(roster.join(join_of(kReplica0)).refusal, "");
  EXPECT_NE(roster.join(join_of(kReplica0)).refusal.find("has joined already, as process 100"),
            std::string::npos);
  EXPECT_EQ(roster.at(kReplica0).incarnation, 7000u);
}

TEST(Roster, StagesAreReachedByAll) {
  Roster roster = joined_roster(2, 1);
  EXPECT_TRUE(roster.all(NodeStage::joined));
  EXPECT_EQ(roster.prepared(prepared_of(kReplica0)), "");
  EXPECT_EQ(roster.prepared(prepared_of(kLoader0)), "");
  EXPECT_FALSE(roster.all(NodeStage::prepared));
  EXPECT_EQ(roster.behind(NodeStage::prepared), "replica 1");
  EXPECT_EQ(roster.prepared(prepared_of(kReplica1)), "");
  EXPECT_TRUE(roster.all(NodeStage::prepared));
  for (const NodeName& name : {kReplica0, kReplica1}) roster.installed(name);
  EXPECT_TRUE(roster.all(NodeStage::installed, true));
  EXPECT_FALSE(roster.all(NodeStage::installed));
  EXPECT_EQ(roster.behind(NodeStage::installed), "loader 0");
}

TEST(Roster, OtherWeightsOrOtherDataAreSaid) {
  Roster roster = joined_roster(2, 2);
  roster.prepared(prepared_of(kReplica0));
  Prepared other = prepared_of(kReplica1);
  other.state_sha256 = "bb";
  const std::string weights = roster.prepared(other);
  EXPECT_NE(weights.find("replica 1 begins with other weights than replica 0"), std::string::npos) << weights;
  roster.prepared(prepared_of(kLoader0));
  Prepared reader = prepared_of({true, 1});
  reader.facts.fingerprint = "else";
  EXPECT_NE(roster.prepared(reader).find("loader 1 reads other data than loader 0"), std::string::npos);
}

TEST(Roster, AnotherModelFileIsSaid) {
  Roster roster = joined_roster(2, 0);
  Prepared one = prepared_of(kReplica0), other = prepared_of(kReplica1);
  one.model_sha256 = "aa";
  other.model_sha256 = "bb";
  EXPECT_EQ(roster.prepared(one), "");
  const std::string said = roster.prepared(other);
  EXPECT_NE(said.find("replica 1 has another model.file or model.library than replica 0 (SHA-256 bb and aa)"),
            std::string::npos)
      << said;
}

TEST(Roster, OtherBitsOfTheProbeAreRefusedUnlessLooseIsAskedFor) {
  for (const auto reproducible : {Reproducible::strict, Reproducible::loose}) {
    Job job = job_of(2, 0);
    job.cluster.reproducible = reproducible;
    Roster roster(job);
    for (const NodeName& who : {kReplica0, kReplica1}) roster.join(join_of(who));
    Prepared prepared = prepared_of(kReplica0);
    prepared.probe_sha256 = "aa";
    EXPECT_EQ(roster.prepared(prepared), "");
    EXPECT_EQ(roster.other_bits(kReplica0), "");
    prepared = prepared_of(kReplica1);
    prepared.probe_sha256 = "bb";
    const std::string refusal = roster.prepared(prepared);
    EXPECT_EQ(refusal.empty(), reproducible == Reproducible::loose) << refusal;
    EXPECT_NE(roster.other_bits(kReplica1).find("replica 1 computes other bits than replica 0"),
              std::string::npos);
  }
}

TEST(Roster, WhatTwoComputeWithIsSaidWhereTheirBitsDiffer) {
  for (const std::string mine : {"AMD EPYC, libtorch 2", "Intel Xeon, libtorch 1"}) {
    Roster roster = joined_roster(2, 0);
    Prepared one = prepared_of(kReplica0), other = prepared_of(kReplica1);
    one.computes_with = "Intel Xeon, libtorch 1";
    one.probe_sha256 = "aa";
    other.computes_with = mine;
    other.probe_sha256 = "bb";
    EXPECT_EQ(roster.prepared(one), "");
    const std::string said = roster.prepared(other);
    const bool same = one.computes_with == other.computes_with;
    const std::string wanted =
        same ? "both compute with Intel Xeon, libtorch 1: is a library"
             : "replica 1 computes with AMD EPYC, libtorch 2; replica 0 with Intel Xeon, libtorch 1.";
    EXPECT_NE(said.find(wanted), std::string::npos) << said;
    EXPECT_EQ(said.find("OPENBLAS_CORETYPE=Haswell") == std::string::npos, same) << said;
  }
}

TEST(Roster, ReplicasThatEndDifferentlyAreSaid) {
  Roster roster = joined_roster(3, 0);
  ReplicaDone done;
  done.steps = 10;
  done.state_sha256 = "aa";
  EXPECT_EQ(roster.done(done), "");
  done.slot = 1;
  EXPECT_EQ(roster.done(done), "");
  done.slot = 2;
  done.state_sha256 = "bb";
  EXPECT_NE(roster.done(done).find("replica 2 ends step 10 with weights bb"), std::string::npos);
}

TEST(Roster, WhereOtherBitsAreOnlyReportedReplicasMayEndDifferently) {
  Job job = job_of(2, 0);
  job.cluster.on_corruption = OnCorruption::report;
  Roster roster(job);
  EXPECT_EQ(roster.done({0, 10, 70, "aa"}), "");
  EXPECT_EQ(roster.done({1, 10, 70, "bb"}), "");
  EXPECT_NE(roster.done({1, 9, 70, "bb"}), "") << "other steps";
}

// They are lower again where all have gone back.
TEST(Roster, StepsAreThoseOfTheLastHeartbeat) {
  Roster roster = joined_roster(2, 0);
  roster.heard({kReplica0, 5});
  roster.heard({kReplica0, 3});
  EXPECT_EQ(roster.at(kReplica0).last_step, 3u);
  roster.heard({kReplica2, 3});  // a stranger
  EXPECT_EQ(roster.nodes().size(), 2u);
}

// The order in which replicas come is chance; what they add up within a host is not to depend on it.
TEST(Roster, ReplicasOfOneHostHoldNeighbouringShards) {
  Job job = job_of(5, 2);
  Roster roster(job);
  const char* const hosts[] = {"a", "b", "c", "a", "b"};
  for (std::uint32_t slot = 0; slot < 5; ++slot) {
    roster.join(join_of({false, slot}));
    Prepared prepared = prepared_of({false, slot});
    prepared.host = hosts[slot];
    EXPECT_EQ(roster.prepared(prepared), "");
  }
  for (std::uint32_t slot = 0; slot < 2; ++slot) {
    roster.join(join_of({true, slot}));
    Prepared prepared = prepared_of({true, slot});
    prepared.host = slot == 0 ? "c" : "a";
    EXPECT_EQ(roster.prepared(prepared), "");
  }
  const View view = roster.first_view();
  std::vector<std::uint32_t> slots, begins;
  for (const Member& member : view.replicas) {
    slots.push_back(member.name.slot);
    begins.push_back(member.begin);
  }
  EXPECT_EQ(slots, (std::vector<std::uint32_t>{0, 3, 1, 4, 2}));
  EXPECT_EQ(begins, (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(view.loaders.front().name, kLoader0) << "loaders are in the order of their numbers";
}

TEST(Roster, SumsLieOnCardsWhereAllReplicasSaySo) {
  for (const std::uint32_t without : {0u, 1u, 2u, 3u}) {
    Roster roster = joined_roster(3, 1);
    for (const auto& [name, record] : std::map(roster.nodes())) {
      Prepared prepared = prepared_of(name);
      prepared.sums_on_card = !name.loader && name.slot != without;
      EXPECT_EQ(roster.prepared(prepared), "");
    }
    EXPECT_EQ(roster.first_view().sums_on_cards, without == 3) << "all but " << without;
  }
}

TEST(Roster, WhoseDataPlaneStandsStillHoldsUpTheOthers) {
  View view;
  Roster roster = roster_in_view(3, 0, view);
  const auto open = roster.begin_close();
  ASSERT_EQ(open.size(), 3u);
  const std::chrono::milliseconds patience(1000);
  EXPECT_EQ(roster.holds_up(open, patience), kReplica2) << "nothing tells them apart";
  Heartbeat still;
  still.name = kReplica1;
  still.still_ms = 1000;
  roster.heard(still);
  EXPECT_EQ(roster.holds_up(open, patience), kReplica1);
  EXPECT_EQ(roster.holds_up({kReplica2}, patience), kReplica1)
      << "it has done all that it owes, but one word";
  still.still_ms = 0;
  roster.heard(still);
  EXPECT_EQ(roster.holds_up(open, patience), kReplica1) << "it did, when the others needed it";
  ++view.number;
  roster.entered(view);
  EXPECT_EQ(roster.holds_up(open, patience), kReplica2);
}

TEST(Roster, WhoHasNotJoinedIsNotAlive) {
  Roster roster(job_of(2, 0));
  EXPECT_TRUE(roster.none_alive());
}

TEST(Roster, LifeEndsByLeavingOrBeingLost) {
  Roster roster = joined_roster(2, 0);
  roster.left(kReplica0);
  EXPECT_FALSE(roster.alive(kReplica0));
  EXPECT_FALSE(roster.none_alive());
  roster.lost(kReplica1);
  EXPECT_TRUE(roster.none_alive());
}

TEST(Roster, FirstViewDealsAllShardsOnce) {
  Roster roster = joined_roster(3, 2);
  for (const auto& [name, record] : std::map(roster.nodes())) roster.prepared(prepared_of(name));
  const View view = roster.first_view();
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
  EXPECT_EQ(roster.shards_of(kReplica0), "0-1");
  EXPECT_EQ(roster.shards_of(kReplica2), "4-4");
  EXPECT_EQ(roster.shards_of(kLoader0), "-");
}

// ---- views that change

void close_all(Roster& roster, const View& view, std::uint64_t records) {
  for (const NodeName& name : roster.begin_close())
    roster.closed({name, view.number, name.loader ? 0 : records, records});
}

TEST(Roster, ANewcomerGetsTheNextNumberAndNeverOneThatWasUsed) {
  View view;
  Roster roster = roster_in_view(2, 0, view);
  roster.lost(kReplica1);
  EXPECT_EQ(newcomer(roster).slot, 2u);
  EXPECT_EQ(newcomer(roster).slot, 3u);
  Join loader = join_of({true, 0});
  loader.joins = true;
  EXPECT_NE(roster.join(loader).refusal.find("no loader processes"), std::string::npos);
}

TEST(Roster, ANewcomerIsFedByAMemberAndIsNoMemberBefore) {
  View view;
  Roster roster = roster_in_view(2, 0, view);
  const NodeName name = newcomer(roster);
  ASSERT_EQ(roster.hungry(), std::vector{name});
  ASSERT_TRUE(roster.donor());
  EXPECT_EQ(roster.donor()->name, kReplica1) << "not the one that speaks for all";
  roster.fed(name, *roster.donor());
  EXPECT_TRUE(roster.hungry().empty());
  EXPECT_FALSE(roster.member(name));
  roster.lost(kReplica1);
  EXPECT_EQ(roster.hungry(), std::vector{name}) << "its donor is lost: it begins again";
}

TEST(Roster, ANewcomerIsTakenInWithWhatItMissesIfThatIsKept) {
  for (const std::uint64_t has : {7u, 9u, 10u}) {
    View view;
    Roster roster = roster_in_view(2, 0, view);
    const NodeName name = newcomer(roster);
    roster.fed(name, *roster.donor());
    roster.caught_up({name, view.number, 5});
    for (const NodeName& member : roster.begin_close())
      roster.closed({member, view.number, member == name ? has : 10, member == kReplica1 ? 9ull : 10ull});
    ASSERT_TRUE(roster.all(NodeStage::closed));
    const auto next = roster.next_view(view);
    ASSERT_TRUE(next.view) << next.missing;
    EXPECT_EQ(next.view->records, 10u);
    EXPECT_EQ(next.view->donor, 1u) << "it can go back furthest";
    EXPECT_EQ(next.view->holds(name), has >= 9u - 1) << has;
    EXPECT_EQ(next.view->behind.size(), has == 9 ? 1u : 0u);
  }
}

TEST(Roster, AViewTellsSinceWhichOneEachIsAMember) {
  View view;
  Roster roster = roster_in_view(2, 0, view);
  for (const Member& member : view.replicas) EXPECT_EQ(member.since, 1u);
  const NodeName name = newcomer(roster);
  roster.fed(name, *roster.donor());
  roster.caught_up({name, view.number, 5});
  for (int change = 0; change < 2; ++change) {
    close_all(roster, view, 5);
    const auto next = roster.next_view(view);
    ASSERT_TRUE(next.view);
    view = *next.view;
    roster.entered(view);
    for (const Member& member : view.replicas) EXPECT_EQ(member.since, member.name == name ? 2u : 1u);
  }
}

TEST(Roster, ANewcomerThatIsAheadOfAllMembersIsNotTakenIn) {
  View view;
  Roster roster = roster_in_view(2, 0, view);
  const NodeName name = newcomer(roster);
  roster.fed(name, *roster.donor());
  roster.caught_up({name, view.number, 10});
  roster.lost(kReplica1);  // its donor, and the only one that held record 10
  for (const NodeName& member : roster.begin_close())
    roster.closed({member, view.number, member == name ? 10ull : 9ull, 9});
  const auto next = roster.next_view(view);
  ASSERT_TRUE(next.view);
  EXPECT_EQ(next.view->records, 9u);
  EXPECT_FALSE(next.view->holds(name));
  roster.entered(*next.view);
  EXPECT_EQ(roster.hungry(), std::vector{name});
}

TEST(Roster, ANewcomerThatClosesTheViewWithItsMembersDoesNotGiveItsState) {
  View view;
  Roster roster = roster_in_view(1, 0, view);
  const NodeName name = newcomer(roster);
  roster.fed(name, *roster.donor());
  roster.caught_up({name, view.number, 5});
  close_all(roster, view, 5);
  EXPECT_EQ(roster.donor()->name, kReplica0);
  roster.leaving(kReplica0);
  ASSERT_TRUE(roster.next_view(view).view);
  EXPECT_TRUE(roster.next_view(view).view->holds(kReplica0)) << "it alone has the state";
  roster.lost(kReplica0);
  EXPECT_FALSE(roster.donor());
}

// Its state is a member's; nobody else has one.
TEST(Roster, NewcomersThatWereGivenTheStateGoOnWhereNoMemberIsLeft) {
  View view;
  Roster roster = roster_in_view(2, 0, view);
  std::vector<NodeName> newcomers;
  for (const std::uint64_t records : {8u, 7u}) {
    newcomers.push_back(newcomer(roster));
    roster.fed(newcomers.back(), *roster.donor());
    if (records == 8) roster.caught_up({newcomers.back(), view.number, records});
  }
  roster.begin_close();
  for (const NodeName& name : {kReplica0, kReplica1}) roster.lost(name);
  roster.closed({newcomers[0], view.number, 8, 9});
  ASSERT_TRUE(roster.all(NodeStage::closed));
  const auto next = roster.next_view(view);
  ASSERT_TRUE(next.view) << next.missing;
  EXPECT_EQ(next.view->records, 8u);
  EXPECT_EQ(next.view->donor, newcomers[0].slot);
  EXPECT_TRUE(next.view->holds(newcomers[0]));
  EXPECT_FALSE(next.view->holds(newcomers[1])) << "it was given nothing yet";
  roster.lost(newcomers[0]);
  EXPECT_EQ(roster.next_view(view).missing, "no replica that holds the state is left");
}

TEST(Roster, TheLastOneThatLeavesGivesItsStateFirst) {
  View view;
  Roster roster = roster_in_view(1, 0, view);
  newcomer(roster);
  roster.leaving(kReplica0);
  close_all(roster, view, 5);
  const auto alone = roster.next_view(view);
  ASSERT_TRUE(alone.view);
  EXPECT_TRUE(alone.view->holds(kReplica0));
  roster.entered(*alone.view);
  ASSERT_TRUE(roster.donor());
  EXPECT_EQ(roster.donor()->name, kReplica0);
  EXPECT_FALSE(roster.may_let_go()) << "nobody else has the state";
}

TEST(Roster, AMemberThatMissesMoreThanTheRestKeepBeginsAgain) {
  View view;
  Roster roster = roster_in_view(3, 0, view);
  const NodeName name = newcomer(roster);
  roster.fed(name, *roster.donor());
  roster.caught_up({name, view.number, 5});
  for (const NodeName& member : roster.begin_close())
    roster.closed({member, view.number, member == name ? 5ull : 8ull, member == kReplica2 ? 4ull : 8ull});
  const auto with_it = roster.next_view(view);
  ASSERT_TRUE(with_it.view);
  EXPECT_TRUE(with_it.view->holds(name)) << "replica 2 hands out what it misses";
  roster.entered(*with_it.view);
  roster.lost(kReplica2);  // before it did
  for (const NodeName& member : roster.begin_close())
    roster.closed({member, with_it.view->number, member == name ? 5ull : 8ull, member == name ? 5ull : 8ull});
  const auto without = roster.next_view(*with_it.view);
  ASSERT_TRUE(without.view) << without.missing;
  EXPECT_EQ(without.view->records, 8u);
  EXPECT_FALSE(without.view->holds(name)) << "nobody can hand out record 6";
  roster.entered(*without.view);
  EXPECT_EQ(roster.hungry(), std::vector{name});
}

TEST(Roster, WhoAskedToLeaveIsNotInTheNextView) {
  View view;
  Roster roster = roster_in_view(3, 0, view);
  roster.leaving(kReplica0);
  close_all(roster, view, 4);
  const auto next = roster.next_view(view);
  ASSERT_TRUE(next.view);
  EXPECT_FALSE(next.view->holds(kReplica0));
  EXPECT_EQ(next.view->replicas.size(), 2u);
  roster.entered(*next.view);
  EXPECT_TRUE(roster.hungry().empty()) << "it does not come back by itself";
}

TEST(Roster, TheLastViewHoldsAllWhoAreLeftHoweverFewAndThoughTheyLeave) {
  View view;
  Roster roster = roster_in_view(3, 1, view);
  EXPECT_FALSE(roster.all_leave());
  roster.leaving(kReplica0);
  roster.lost(kReplica2);
  roster.lost(kLoader0);
  EXPECT_FALSE(roster.all_leave());
  roster.leaving(kReplica1);
  EXPECT_TRUE(roster.all_leave()) << "a lost one is not asked";
  close_all(roster, view, 4);
  EXPECT_FALSE(roster.next_view(view).view);
  const auto last = roster.last_view(view);
  ASSERT_TRUE(last.view);
  EXPECT_TRUE(last.view->last);
  EXPECT_EQ(last.view->replicas.size(), 2u);
  EXPECT_EQ(last.view->records, 4u);
  EXPECT_TRUE(roster.at(kReplica0).leaving) << "nothing is forgotten";
}

TEST(Roster, WithTooFewReplicasOrWithoutLoaderThereIsNoView) {
  Job job = job_of(2, 0);
  job.cluster.min_replicas = 2;
  Roster roster(job);
  for (const NodeName& name : {kReplica0, kReplica1}) {
    roster.join(join_of(name));
    roster.prepared(prepared_of(name));
  }
  const View view = roster.first_view();
  roster.entered(view);
  roster.lost(kReplica1);
  close_all(roster, view, 4);
  EXPECT_NE(roster.next_view(view).missing.find("1 more replicas"), std::string::npos);

  View loaded;
  Roster with_loader = roster_in_view(2, 1, loaded);
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
