// Which nodes make the first view, and the next ones.
#include "actors/rules/membership/view_maker.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/rules/membership/membership_in_view.hpp"

namespace muster {
namespace {

TEST(ViewMaker, ReplicasLoadForThemselvesIfTheJobSaysSoAndAllCan) {
  View view;
  EXPECT_EQ(without_loaders(OnLoaderLoss::wait, true, view).views().next(view).missing, "a loader process");
  EXPECT_EQ(without_loaders(OnLoaderLoss::fail, true, view).views().next(view).missing, "a loader process");
  const auto next = without_loaders(OnLoaderLoss::load_here, true, view).views().next(view);
  ASSERT_TRUE(next.view) << next.missing;
  EXPECT_TRUE(next.view->loaders.empty());
  EXPECT_EQ(next.view->replicas.size(), 2u);
  EXPECT_EQ(without_loaders(OnLoaderLoss::load_here, false, view).views().next(view).missing,
            "a loader process, for replica 1 cannot read the data itself");
}

TEST(ViewMaker, WhoCannotReadKeepsTheViewFromBeingMade) {
  View view;
  EXPECT_EQ(without_loaders(OnLoaderLoss::load_here, false, view).views().who_cannot_read(view),
            std::vector{kReplica1});
  EXPECT_TRUE(without_loaders(OnLoaderLoss::load_here, true, view).views().who_cannot_read(view).empty());
  EXPECT_TRUE(without_loaders(OnLoaderLoss::wait, false, view).views().who_cannot_read(view).empty())
      << "the job says that a loader is waited for";
}

TEST(ViewMaker, WhereTooFewCanReadTheOthersAreNotWhatIsMissing) {
  View view;
  EXPECT_TRUE(without_loaders(OnLoaderLoss::load_here, false, view, 2).views().who_cannot_read(view).empty());
}

// The order in which replicas come is chance; what they add up within a host is not to depend on it.
TEST(ViewMaker, ReplicasOfOneHostHoldNeighboringShards) {
  Job job = job_of(5, 2);
  Membership membership(job);
  const char* const hosts[] = {"a", "b", "c", "a", "b"};
  for (std::uint32_t slot = 0; slot < 5; ++slot) {
    membership.admission().join(join_of({false, slot}));
    Prepared prepared = prepared_of({false, slot});
    prepared.host = hosts[slot];
    EXPECT_EQ(membership.admission().prepared(prepared), "");
  }
  for (std::uint32_t slot = 0; slot < 2; ++slot) {
    membership.admission().join(join_of({true, slot}));
    Prepared prepared = prepared_of({true, slot});
    prepared.host = slot == 0 ? "c" : "a";
    EXPECT_EQ(membership.admission().prepared(prepared), "");
  }
  const View view = membership.views().first();
  std::vector<std::uint32_t> slots, begins;
  for (const Member& member : view.replicas) {
    slots.push_back(member.name.slot);
    begins.push_back(member.begin);
  }
  EXPECT_EQ(slots, (std::vector<std::uint32_t>{0, 3, 1, 4, 2}));
  EXPECT_EQ(begins, (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(view.loaders.front().name, kLoader0) << "loaders are in the order of their numbers";
}

TEST(ViewMaker, SumsLieOnGpusWhereAllReplicasSaySo) {
  for (const std::uint32_t without : {0u, 1u, 2u, 3u}) {
    Membership membership = joined_membership(3, 1);
    for (const auto& [name, record] : std::map(membership.nodes().all())) {
      Prepared prepared = prepared_of(name);
      prepared.sums_on_gpu = !name.loader && name.slot != without;
      EXPECT_EQ(membership.admission().prepared(prepared), "");
    }
    EXPECT_EQ(membership.views().first().sums_on_gpus, without == 3) << "all but " << without;
  }
}

TEST(ViewMaker, FirstViewDealsAllShardsOnce) {
  Membership membership = joined_membership(3, 2);
  for (const auto& [name, record] : std::map(membership.nodes().all()))
    membership.admission().prepared(prepared_of(name));
  const View view = membership.views().first();
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
  EXPECT_EQ(membership.views().shards_of(kReplica0), "0-1");
  EXPECT_EQ(membership.views().shards_of(kReplica2), "4-4");
  EXPECT_EQ(membership.views().shards_of(kLoader0), "-");
}

TEST(ViewMaker, ANewcomerIsTakenInWithWhatItMissesIfThatIsKept) {
  for (const std::uint64_t has : {7u, 9u, 10u}) {
    View view;
    Membership membership = membership_in_view(2, 0, view);
    const NodeName name = newcomer(membership);
    membership.transfers().began(name, *membership.transfers().donor());
    membership.transfers().caught_up({name, view.number, 5});
    for (const NodeName& member : membership.begin_close())
      membership.closed({member, view.number, member == name ? has : 10, member == kReplica1 ? 9ull : 10ull});
    ASSERT_TRUE(membership.all(NodeStage::closed));
    const auto next = membership.views().next(view);
    ASSERT_TRUE(next.view) << next.missing;
    EXPECT_EQ(next.view->records, 10u);
    EXPECT_EQ(next.view->donor, 1u) << "it can go back furthest";
    EXPECT_EQ(next.view->holds(name), has >= 9u - 1) << has;
    EXPECT_EQ(next.view->behind.size(), has == 9 ? 1u : 0u);
  }
}

TEST(ViewMaker, AViewTellsSinceWhichOneEachIsAMember) {
  View view;
  Membership membership = membership_in_view(2, 0, view);
  for (const Member& member : view.replicas) EXPECT_EQ(member.since, 1u);
  const NodeName name = newcomer(membership);
  membership.transfers().began(name, *membership.transfers().donor());
  membership.transfers().caught_up({name, view.number, 5});
  for (int change = 0; change < 2; ++change) {
    close_all(membership, view, 5);
    const auto next = membership.views().next(view);
    ASSERT_TRUE(next.view);
    view = *next.view;
    membership.entered(view);
    for (const Member& member : view.replicas) EXPECT_EQ(member.since, member.name == name ? 2u : 1u);
  }
}

TEST(ViewMaker, ANewcomerThatIsAheadOfAllMembersIsNotTakenIn) {
  View view;
  Membership membership = membership_in_view(2, 0, view);
  const NodeName name = newcomer(membership);
  membership.transfers().began(name, *membership.transfers().donor());
  membership.transfers().caught_up({name, view.number, 10});
  membership.lost(kReplica1);  // its donor, and the only one that held record 10
  for (const NodeName& member : membership.begin_close())
    membership.closed({member, view.number, member == name ? 10ull : 9ull, 9});
  const auto next = membership.views().next(view);
  ASSERT_TRUE(next.view);
  EXPECT_EQ(next.view->records, 9u);
  EXPECT_FALSE(next.view->holds(name));
  membership.entered(*next.view);
  EXPECT_EQ(membership.transfers().without_donor(), std::vector{name});
}

// Its state is a member's; nobody else has one.
TEST(ViewMaker, NewcomersThatWereGivenTheStateGoOnWhereNoMemberIsLeft) {
  View view;
  Membership membership = membership_in_view(2, 0, view);
  std::vector<NodeName> newcomers;
  for (const std::uint64_t records : {8u, 7u}) {
    newcomers.push_back(newcomer(membership));
    membership.transfers().began(newcomers.back(), *membership.transfers().donor());
    if (records == 8) membership.transfers().caught_up({newcomers.back(), view.number, records});
  }
  membership.begin_close();
  for (const NodeName& name : {kReplica0, kReplica1}) membership.lost(name);
  membership.closed({newcomers[0], view.number, 8, 9});
  ASSERT_TRUE(membership.all(NodeStage::closed));
  const auto next = membership.views().next(view);
  ASSERT_TRUE(next.view) << next.missing;
  EXPECT_EQ(next.view->records, 8u);
  EXPECT_EQ(next.view->donor, newcomers[0].slot);
  EXPECT_TRUE(next.view->holds(newcomers[0]));
  EXPECT_FALSE(next.view->holds(newcomers[1])) << "it was given nothing yet";
  membership.lost(newcomers[0]);
  EXPECT_EQ(membership.views().next(view).missing, "no replica that holds the state is left");
}

TEST(ViewMaker, TheLastOneThatLeavesGivesItsStateFirst) {
  View view;
  Membership membership = membership_in_view(1, 0, view);
  newcomer(membership);
  membership.leaving(kReplica0);
  close_all(membership, view, 5);
  const auto alone = membership.views().next(view);
  ASSERT_TRUE(alone.view);
  EXPECT_TRUE(alone.view->holds(kReplica0));
  membership.entered(*alone.view);
  ASSERT_TRUE(membership.transfers().donor());
  EXPECT_EQ(membership.transfers().donor()->name, kReplica0);
  EXPECT_FALSE(may_let_go(membership.nodes())) << "nobody else has the state";
}

TEST(ViewMaker, AMemberThatMissesMoreThanTheRestKeepBeginsAgain) {
  View view;
  Membership membership = membership_in_view(3, 0, view);
  const NodeName name = newcomer(membership);
  membership.transfers().began(name, *membership.transfers().donor());
  membership.transfers().caught_up({name, view.number, 5});
  for (const NodeName& member : membership.begin_close())
    membership.closed({member, view.number, member == name ? 5ull : 8ull, member == kReplica2 ? 4ull : 8ull});
  const auto with_it = membership.views().next(view);
  ASSERT_TRUE(with_it.view);
  EXPECT_TRUE(with_it.view->holds(name)) << "replica 2 sends what it misses";
  membership.entered(*with_it.view);
  membership.lost(kReplica2);  // before it did
  for (const NodeName& member : membership.begin_close())
    membership.closed(
        {member, with_it.view->number, member == name ? 5ull : 8ull, member == name ? 5ull : 8ull});
  const auto without = membership.views().next(*with_it.view);
  ASSERT_TRUE(without.view) << without.missing;
  EXPECT_EQ(without.view->records, 8u);
  EXPECT_FALSE(without.view->holds(name)) << "nobody can send record 6";
  membership.entered(*without.view);
  EXPECT_EQ(membership.transfers().without_donor(), std::vector{name});
}

TEST(ViewMaker, WhoAskedToLeaveIsNotInTheNextView) {
  View view;
  Membership membership = membership_in_view(3, 0, view);
  membership.leaving(kReplica0);
  close_all(membership, view, 4);
  const auto next = membership.views().next(view);
  ASSERT_TRUE(next.view);
  EXPECT_FALSE(next.view->holds(kReplica0));
  EXPECT_EQ(next.view->replicas.size(), 2u);
  membership.entered(*next.view);
  EXPECT_TRUE(membership.transfers().without_donor().empty()) << "it does not come back by itself";
}

TEST(ViewMaker, TheLastViewHoldsAllWhoAreLeftHoweverFewAndThoughTheyLeave) {
  View view;
  Membership membership = membership_in_view(3, 1, view);
  EXPECT_FALSE(all_leave(membership.nodes()));
  membership.leaving(kReplica0);
  membership.lost(kReplica2);
  membership.lost(kLoader0);
  EXPECT_FALSE(all_leave(membership.nodes()));
  membership.leaving(kReplica1);
  EXPECT_TRUE(all_leave(membership.nodes())) << "a lost one is not asked";
  close_all(membership, view, 4);
  EXPECT_FALSE(membership.views().next(view).view);
  const auto last = membership.views().last_of_run(view);
  ASSERT_TRUE(last.view);
  EXPECT_TRUE(last.view->last);
  EXPECT_EQ(last.view->replicas.size(), 2u);
  EXPECT_EQ(last.view->records, 4u);
  EXPECT_TRUE(membership.at(kReplica0).leaving) << "nothing is forgotten";
}

TEST(ViewMaker, WithTooFewReplicasOrWithoutLoaderThereIsNoView) {
  Job job = job_of(2, 0);
  job.cluster.min_replicas = 2;
  Membership membership(job);
  for (const NodeName& name : {kReplica0, kReplica1}) {
    membership.admission().join(join_of(name));
    membership.admission().prepared(prepared_of(name));
  }
  const View view = membership.views().first();
  membership.entered(view);
  membership.lost(kReplica1);
  close_all(membership, view, 4);
  EXPECT_NE(membership.views().next(view).missing.find("1 more replicas"), std::string::npos);

  View loaded;
  Membership with_loader = membership_in_view(2, 1, loaded);
  with_loader.lost(kLoader0);
  close_all(with_loader, loaded, 4);
  EXPECT_EQ(with_loader.views().next(loaded).missing, "a loader process");
  newcomer(with_loader, true);
  const auto next = with_loader.views().next(loaded);
  ASSERT_TRUE(next.view);
  EXPECT_EQ(next.view->loaders.front().name.slot, 1u);
}

TEST(ViewMaker, WhoMissesMoreThanCanBeSentIsNamedWhereTooFewAreLeft) {
  View view;
  Membership membership = membership_in_view(2, 0, view, 2);
  membership.begin_close();
  membership.closed({kReplica0, view.number, 9, 8});
  membership.closed({kReplica1, view.number, 4, 4});
  const NextView next = membership.views().next(view);
  EXPECT_FALSE(next.view);
  EXPECT_EQ(next.missing, "1 more replicas (cluster.min_replicas = 2)");
  EXPECT_EQ(next.unfit, std::vector{kReplica1});
}

TEST(ViewMaker, WhereNoRoundIsLeftFewAreEnough) {
  View view;
  Membership membership = membership_in_view(2, 1, view, 2);
  membership.lost(kReplica1);
  membership.lost(kLoader0);
  close_all(membership, view, 5);
  EXPECT_FALSE(membership.views().next(view).view);
  const NextView next = membership.views().next_if_trained(view);
  ASSERT_TRUE(next.view) << next.missing;
  EXPECT_EQ(next.view->replicas.size(), 1u);
  EXPECT_FALSE(next.view->last);
}

TEST(ViewMaker, TheNumberOfAViewIsBeyondAllThatMembersKnow) {
  View view;
  Membership membership = membership_in_view(2, 0, view);
  Adopt knows_more;
  knows_more.join.name = kReplica1;
  knows_more.view.number = 6;
  membership.returns().reconnected(knows_more);
  close_all(membership, view, 5);
  EXPECT_EQ(membership.views().next(view).view->number, 7u);
  membership.lost(kReplica1);
  EXPECT_EQ(membership.views().next(view).view->number, 2u) << "nobody else knows of it";
}

TEST(ViewMaker, ReplicasWhoseBitsWereNotComparedAreUnproven) {
  View view;
  Membership membership = membership_in_view(2, 0, view);
  membership.begin_close();
  Closed proven{kReplica0, view.number, 5, 5};
  proven.proven = true;
  membership.closed(proven);
  membership.closed({kReplica1, view.number, 5, 5});
  EXPECT_EQ(membership.views().next(view).view->unproven, std::vector<std::uint32_t>{1});
}

}  // namespace
}  // namespace muster
