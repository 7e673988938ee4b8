// Views of runs whose optimizer is held in parts.
#include <gtest/gtest.h>

#include "actors/rules/membership/membership.hpp"
#include "tests/unit/actors/rules/membership/membership_in_view.hpp"
#include "transport/frame.hpp"

namespace muster {
namespace {

// Replicas 0, 1 and 2 in view 1, with all its records up to the 14th.
struct PartsRun {
  PartsRun() : membership(job()) {
    for (std::uint32_t slot = 0; slot < 3; ++slot) come(false);
    view = membership.views().first();
    membership.entered(view);
  }

  static Job job() {
    Job job;
    job.train.shards = 6;
    job.train.shard_optimizer = true;
    job.cluster.replicas = 3;
    return job;
  }

  NodeName come(bool later) {
    Join join;
    join.protocol = kProtocolVersion;
    join.joins = true;
    const NodeName name = membership.admission().join(join).name;
    Prepared prepared;
    prepared.name = name;
    EXPECT_EQ(membership.admission().prepared(prepared), "");
    if (later) membership.transfers().caught_up({name, view.number, 14});
    return name;
  }

  void close(std::uint32_t slot, std::uint64_t records, std::uint32_t took) {
    membership.closed({{false, slot}, view.number, records, records, took});
  }

  // View 2 has a member more, who has no part yet.
  NodeName enter_view_2() {
    const NodeName newcomer = come(true);
    membership.begin_close();
    for (std::uint32_t slot = 0; slot < 3; ++slot) close(slot, 14, 1);
    close(newcomer.slot, 14, 0);
    view = *membership.views().next(view).view;
    EXPECT_TRUE(view.holds(newcomer));
    EXPECT_EQ(view.source.view, 1u) << "the parts are still where they were";
    membership.entered(view);
    return newcomer;
  }

  Membership membership;
  View view;
};

TEST(ViewMakerParts, OneCanBeSparedAsLongAsItsBuddyIsLeft) {
  PartsRun run;
  run.membership.begin_close();
  for (std::uint32_t slot = 0; slot < 3; ++slot) run.close(slot, 14, 1);
  EXPECT_TRUE(run.membership.views().can_spare(run.view, {false, 0}));
  run.membership.lost({false, 1});
  EXPECT_FALSE(run.membership.views().can_spare(run.view, {false, 0}));
  EXPECT_TRUE(run.membership.views().can_spare(run.view, {true, 0})) << "a loader has no part";
}

// It has no part. The others go back to the last checkpoint, with it or without it.
TEST(ViewMakerParts, WhoCannotReadIsLeftOutWherePartsAreLostAnyway) {
  Job job = PartsRun::job();
  job.cluster.loaders = 1;
  job.cluster.on_loader_loss = OnLoaderLoss::load_here;
  Membership membership(job);
  const auto prepare = [&](const NodeName& name, bool loads) {
    Prepared prepared = prepared_of(name);
    prepared.loads = loads;
    prepared.facts = prepared_of(kLoader0).facts;
    EXPECT_EQ(membership.admission().prepared(prepared), "");
  };
  for (const NodeName& name : {kReplica0, kReplica1, kReplica2, kLoader0}) {
    EXPECT_EQ(membership.admission().join(join_of(name)).refusal, "");
    prepare(name, true);
  }
  const View view = membership.views().first();
  membership.entered(view);
  Join join = join_of({false, 3});
  join.joins = true;
  const NodeName newcomer = membership.admission().join(join).name;
  prepare(newcomer, false);
  membership.transfers().caught_up({newcomer, view.number, 14});
  membership.lost(kLoader0);
  membership.begin_close();
  for (const NodeName& name : {kReplica0, kReplica1, kReplica2})
    membership.closed({name, view.number, 14, 14, view.number});
  membership.closed({newcomer, view.number, 14, 14, 0});
  EXPECT_EQ(membership.views().who_cannot_read(view), std::vector{newcomer}) << "nothing is lost with it";
  membership.lost(kReplica0);
  membership.lost(kReplica1);
  EXPECT_FALSE(membership.views().next(view).view);
  EXPECT_EQ(membership.views().who_cannot_read(view), std::vector{newcomer}) << "nor here";
}

// They were given no part: all go back to the last checkpoint.
TEST(ViewMakerParts, NewcomersGoOnFromTheLastCheckpointWhereNoMemberIsLeft) {
  PartsRun run;
  const NodeName newcomer = run.come(true);
  run.membership.begin_close();
  for (std::uint32_t slot = 0; slot < 3; ++slot) run.membership.lost({false, slot});
  run.close(newcomer.slot, 14, 0);
  const auto next = run.membership.views().next(run.view);
  ASSERT_TRUE(next.view) << next.missing;
  EXPECT_TRUE(next.lost);
  EXPECT_TRUE(next.view->holds(newcomer));
}

// The donor had made one step more than the others and told its newcomer of it; then it was lost.
TEST(ViewMakerParts, AViewBeginsWhereTheHoldersOfPartsAre) {
  PartsRun run;
  const NodeName newcomer = run.enter_view_2();
  run.membership.lost({false, 2});
  run.membership.begin_close();
  run.close(0, 14, 1);
  run.close(1, 14, 1);
  run.membership.closed({newcomer, run.view.number, 15, 16, 0});
  const auto next = run.membership.views().next(run.view);
  ASSERT_TRUE(next.view);
  EXPECT_FALSE(next.lost);
  EXPECT_EQ(next.view->records, 14u);
  EXPECT_TRUE(next.view->holds({false, 0}) && next.view->holds({false, 1}));
  EXPECT_FALSE(next.view->holds(newcomer)) << "it is ahead, and begins again with a state from a member";
}

TEST(ViewMakerParts, WithAllHoldersLostTheNewcomersGoBackToTheCheckpoint) {
  PartsRun run;
  const NodeName newcomer = run.enter_view_2();
  for (std::uint32_t slot = 0; slot < 3; ++slot) run.membership.lost({false, slot});
  run.membership.begin_close();
  run.membership.closed({newcomer, run.view.number, 14, 15, 0});
  const auto next = run.membership.views().next(run.view);
  ASSERT_TRUE(next.view);
  EXPECT_TRUE(next.lost);
  EXPECT_TRUE(next.view->holds(newcomer));
}

}  // namespace
}  // namespace muster
