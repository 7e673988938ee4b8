#include <gtest/gtest.h>

#include "actors/rules/stragglers/straggling.hpp"
#include "actors/rules/watch/cluster_watch.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;

NodeName replica(std::uint32_t slot) {
  return {false, slot};
}

View view_of(std::uint32_t replicas, std::uint32_t shards_each, std::uint32_t loaders = 0) {
  View view;
  view.number = 4;
  for (std::uint32_t slot = 0; slot < replicas; ++slot)
    view.replicas.push_back({replica(slot), 1, "", slot * shards_each, (slot + 1) * shards_each});
  for (std::uint32_t slot = 0; slot < loaders; ++slot) view.loaders.push_back({{true, slot}, 1, "", 0, 0});
  return view;
}

ClusterConfig config(StragglerAction action) {
  ClusterConfig cluster;
  cluster.straggler.action = action;
  return cluster;
}

bool everybody(const NodeName&) {
  return true;
}

constexpr ClusterWatch::Time kNow{0};

HeldUp held_up(std::uint32_t by, std::uint32_t slot, const std::string& cause = "compute") {
  HeldUp message;
  message.name = replica(by);
  message.view = 4;
  message.round = 3;
  message.record = 3;
  message.step = 17;
  message.slot = slot;
  message.cause = cause;
  message.waited_for = "its sums";
  message.waited_ms = 1234.4;
  return message;
}

TEST(ClusterWatch, LatenessIsSaidOnceAndEvictsNobodyByItself) {
  ClusterWatch watch(config(StragglerAction::wait), milliseconds(50));
  watch.entered(view_of(3, 2));
  const auto first = watch.held_up(held_up(0, 2), kNow);
  ASSERT_EQ(first.events.size(), 1u);
  const Event& event = first.events[0];
  EXPECT_EQ(event.name, "late");
  EXPECT_EQ(event.integer("replica"), 2);
  EXPECT_EQ(event.text("shards"), "4-5");
  EXPECT_EQ(event.integer("step"), 17);
  EXPECT_EQ(event.text("cause"), "compute");
  EXPECT_EQ(event.text("seen_by"), "replica 0");
  EXPECT_TRUE(first.losses.empty());
  const auto second = watch.held_up(held_up(1, 2), kNow);
  EXPECT_TRUE(second.events.empty() && second.losses.empty()) << "seen by another one, too";
  HeldUp old = held_up(0, 1);
  old.view = 3;
  EXPECT_TRUE(watch.held_up(old, kNow).events.empty());
  EXPECT_TRUE(watch.held_up(held_up(0, 9), kNow).events.empty()) << "no member";
}

TEST(ClusterWatch, StuckIsLostWhateverTheActionIs) {
  ClusterWatch watch(config(StragglerAction::wait), milliseconds(50));
  watch.entered(view_of(3, 2));
  HeldUp stuck = held_up(0, 2);
  stuck.stuck = true;
  const auto judgement = watch.held_up(stuck, kNow);
  ASSERT_EQ(judgement.losses.size(), 1u);
  EXPECT_EQ(judgement.losses[0].name, replica(2));
  EXPECT_EQ(judgement.losses[0].noticed_by, "replica 0");
  EXPECT_EQ(
      judgement.losses[0].reason,
      "it holds up step 17 for 1234 ms (compute) and has done nothing for cluster.straggler.stuck_after");
}

TEST(ClusterWatch, WhatWasSaidBeforeASilenceOfAllIsNotJudged) {
  ClusterWatch watch(config(StragglerAction::wait), milliseconds(50));
  watch.entered(view_of(3, 2));
  for (std::uint32_t slot = 0; slot < 3; ++slot) watch.heard({replica(slot), 16, 0, 0}, kNow);
  const auto all = [](const NodeName&) { return true; };
  for (int tick = 0; tick < 400; ++tick) watch.judge(all, milliseconds(50) * tick);
  HeldUp stuck = held_up(0, 2);
  stuck.stuck = true;
  const auto judgement = watch.held_up(stuck, std::chrono::seconds(20));
  EXPECT_TRUE(judgement.losses.empty()) << "it may have moved on since";
  EXPECT_EQ(judgement.events.size(), 1u);
}

TEST(ClusterWatch, EvictIsForThoseForWhomOthersWaitAndCanGoOn) {
  ClusterWatch watch(config(StragglerAction::evict), milliseconds(50));
  watch.entered(view_of(3, 2));
  EXPECT_TRUE(watch.held_up(held_up(0, 2), kNow).losses.empty()) << "it may be over";
  EXPECT_EQ(watch.held_up(held_up(0, 2), std::chrono::seconds(1)).losses.size(), 1u);
  EXPECT_TRUE(watch.held_up(held_up(1, 1, "data"), kNow).losses.empty()) << "it says so of itself";
  HeldUp link = held_up(0, 1, "link");
  link.link_broken = true;
  EXPECT_TRUE(watch.held_up(link, kNow).losses.empty()) << "a broken link is for the complaints";
  watch.entered(view_of(1, 2));
  EXPECT_TRUE(watch.held_up(held_up(1, 0), kNow).losses.empty()) << "the last one";
}

// Sums pass through replica 1; replica 2 stands still.
TEST(ClusterWatch, EvictIsNotForOneThatWaitsItself) {
  ClusterWatch watch(config(StragglerAction::evict), milliseconds(50));
  watch.entered(view_of(3, 2));
  EXPECT_TRUE(watch.held_up(held_up(0, 1, "link"), kNow).losses.empty()) << "replica 1 may wait itself";
  EXPECT_TRUE(watch.held_up(held_up(1, 2, "link"), kNow).losses.empty());
  const ClusterWatch::Time later = std::chrono::seconds(1);
  EXPECT_TRUE(watch.held_up(held_up(0, 1, "link"), later).losses.empty()) << "it waits itself";
  const auto judgement = watch.held_up(held_up(1, 2, "link"), later);
  ASSERT_EQ(judgement.losses.size(), 1u);
  EXPECT_EQ(judgement.losses[0].name, replica(2));
}

TEST(ClusterWatch, WhoSaysThatAnotherTakesNothingHasAllThatItWaitsFor) {
  ClusterWatch watch(config(StragglerAction::evict), milliseconds(50));
  watch.entered(view_of(3, 2));
  HeldUp not_taken = held_up(1, 2, "link");
  not_taken.waited_for = kToTake;
  const auto losses_at = [&](ClusterWatch::Time now) {
    return watch.held_up(not_taken, now).losses.size() +
           watch.held_up(held_up(0, 1, "link"), now).losses.size();
  };
  EXPECT_EQ(losses_at(kNow), 0u);
  EXPECT_EQ(losses_at(std::chrono::seconds(1)), 2u);
}

// What it did a moment ago may be over, and its loader may be late.
TEST(ClusterWatch, EvictIsForOneThatIsLateAgainForTheSameFault) {
  ClusterWatch watch(config(StragglerAction::evict), milliseconds(50));
  watch.entered(view_of(3, 2, 2));
  EXPECT_TRUE(watch.held_up(held_up(0, 1), kNow).losses.empty());
  EXPECT_TRUE(watch.held_up(held_up(0, 1), milliseconds(299)).losses.empty()) << "within three heartbeats";
  EXPECT_TRUE(watch.held_up(held_up(0, 1, "data"), milliseconds(300)).losses.empty()) << "a loader's";
  HeldUp next_step = held_up(0, 1);
  ++next_step.step;
  EXPECT_EQ(watch.held_up(next_step, std::chrono::minutes(5)).losses.size(), 1u);
}

// A slow host takes long for both, and says so in turns.
TEST(ClusterWatch, WithoutLoadersDataAndComputationAreOneFault) {
  ClusterWatch watch(config(StragglerAction::evict), milliseconds(50));
  watch.entered(view_of(3, 2));
  EXPECT_TRUE(watch.held_up(held_up(0, 1, "data"), kNow).losses.empty());
  EXPECT_EQ(watch.held_up(held_up(0, 1, "compute"), std::chrono::seconds(1)).losses.size(), 1u);
}

TEST(ClusterWatch, ATimeInWhichNobodyWasAskedTwiceEvictsNobody) {
  ClusterWatch watch(config(StragglerAction::evict), milliseconds(50));
  watch.entered(view_of(3, 2));
  HeldUp short_one = held_up(0, 1);
  short_one.waited_ms = 199;
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(watch.held_up(short_one, std::chrono::seconds(i)).losses.empty()) << "two heartbeats";
}

// ---- loaders

HeldUp loader_held_up(std::uint32_t by, std::uint32_t loader, bool stuck) {
  HeldUp message = held_up(by, loader, "data");
  message.loader = true;
  message.stuck = stuck;
  message.waited_for = "3 micro-batches";
  return message;
}

TEST(ClusterWatch, ALateLoaderIsNamedAndStays) {
  ClusterWatch watch(config(StragglerAction::wait), milliseconds(50));
  watch.entered(view_of(3, 2, 2));
  const auto first = watch.held_up(loader_held_up(0, 1, false), kNow);
  ASSERT_EQ(first.events.size(), 1u);
  EXPECT_EQ(first.events[0].integer("loader"), 1);
  EXPECT_FALSE(first.events[0].has("replica"));
  EXPECT_EQ(first.events[0].text("waited_for"), "3 micro-batches");
  EXPECT_EQ(first.events[0].text("seen_by"), "replica 0");
  EXPECT_TRUE(first.losses.empty());
  EXPECT_TRUE(watch.held_up(loader_held_up(2, 1, false), kNow).events.empty()) << "said already";
  EXPECT_TRUE(watch.held_up(loader_held_up(0, 5, true), kNow).losses.empty()) << "no member";
}

TEST(ClusterWatch, AStuckLoaderIsLostEvenIfItIsTheOnlyOne) {
  for (const std::uint32_t loaders : {1u, 2u}) {
    ClusterWatch watch(config(StragglerAction::wait), milliseconds(50));
    watch.entered(view_of(3, 2, loaders));
    const auto judgement = watch.held_up(loader_held_up(2, 0, true), kNow);
    ASSERT_EQ(judgement.losses.size(), 1u);
    EXPECT_EQ(judgement.losses[0].name, (NodeName{true, 0}));
    EXPECT_EQ(judgement.losses[0].noticed_by, "replica 2");
    EXPECT_EQ(judgement.losses[0].reason,
              "replica 2 has waited for it for 1234 ms, and it has done nothing for "
              "cluster.straggler.stuck_after");
  }
}

TEST(ClusterWatch, ALateLoaderIsEvictedIfTheJobSaysSoAndAnotherIsLeft) {
  ClusterWatch watch(config(StragglerAction::evict), milliseconds(50));
  watch.entered(view_of(3, 2, 2));
  EXPECT_TRUE(watch.held_up(loader_held_up(0, 1, false), kNow).losses.empty()) << "a link may have been down";
  const ClusterWatch::Time later = std::chrono::seconds(1);
  EXPECT_EQ(watch.held_up(loader_held_up(0, 1, false), later).losses.size(), 1u);
  HeldUp link = loader_held_up(0, 1, false);
  link.link_broken = true;
  EXPECT_TRUE(watch.held_up(link, kNow).losses.empty()) << "a broken link is for the complaints";
  watch.entered(view_of(3, 2, 1));
  for (const auto now : {kNow, later})
    EXPECT_TRUE(watch.held_up(loader_held_up(0, 0, false), now).losses.empty()) << "the only one";
}

TEST(ClusterWatch, OfABrokenLinkTheLoaderGoesIfItCanBeReplaced) {
  const auto lost_for = [](ClusterConfig cluster, std::uint32_t loaders) {
    ClusterWatch watch(cluster, milliseconds(50));
    watch.entered(view_of(2, 2, loaders));
    const NodeName loader{true, 0};
    for (const NodeName& who : {replica(0), replica(1), loader}) watch.came(who, milliseconds(0));
    watch.complained({replica(1), 4, true, loader, "no frame of it for 1000 ms"}, milliseconds(100));
    for (const NodeName& who : {replica(0), replica(1), loader})
      watch.heard({who, 0, 0, 0}, milliseconds(400));
    watch.judge(everybody, milliseconds(400));  // a detector that was away looks once more
    const auto losses = watch.judge(everybody, milliseconds(450)).losses;
    return losses.size() == 1 ? losses[0].name : NodeName{false, 99};
  };
  ClusterConfig cluster;
  EXPECT_EQ(lost_for(cluster, 2), (NodeName{true, 0}));
  EXPECT_EQ(lost_for(cluster, 1), replica(1)) << "nobody else loads";
  cluster.min_replicas = 2;
  EXPECT_EQ(lost_for(cluster, 1), (NodeName{true, 0})) << "no replica can be spared";
  cluster.min_replicas = 1;
  cluster.on_loader_loss = OnLoaderLoss::load_here;
  EXPECT_EQ(lost_for(cluster, 1), (NodeName{true, 0}));
}

// ---- drop

HeldUp ready(std::uint32_t by, std::uint32_t slot) {
  HeldUp message = held_up(by, slot);
  message.ready = true;
  return message;
}

TEST(ClusterWatch, AStepGoesOnWithoutThoseWhoAreLateForIt) {
  ClusterWatch watch(config(StragglerAction::drop), milliseconds(50));
  watch.entered(view_of(3, 2));
  EXPECT_FALSE(watch.held_up(held_up(0, 2), kNow).drops) << "it has not applied the step before";
  EXPECT_FALSE(watch.held_up(ready(2, 2), kNow).drops) << "nobody else waits";
  EXPECT_TRUE(watch.held_up(ready(0, 2), kNow).drops);
  EXPECT_FALSE(watch.held_up(ready(1, 2), kNow).drops) << "not twice";
  EXPECT_FALSE(watch.held_up(ready(2, 1), kNow).drops) << "most of them are no stragglers";
  View next = view_of(3, 2);
  next.number = 5;
  next.dropping = watch.dropping();
  watch.entered(next);
  HeldUp other = ready(0, 1);
  other.view = 5;
  EXPECT_FALSE(watch.held_up(other, kNow).drops) << "one view change for each step";
  EXPECT_EQ(watch.dropping(), (Dropping{3, {{4, 6}}}));
  other.round = 4;
  other.record = 4;
  EXPECT_TRUE(watch.held_up(other, kNow).drops) << "the next record";
  EXPECT_EQ(watch.dropping(), (Dropping{4, {{2, 4}}}));
}

// In each view its silence, and its standstill, begin anew.
TEST(ClusterWatch, NoTwoStepsInSuccessionGoOnWithoutAReplicaWhoseLoaderIsLate) {
  ClusterWatch watch(config(StragglerAction::drop), milliseconds(50));
  watch.entered(view_of(3, 2, 2));
  HeldUp late = ready(0, 2);
  late.cause = "data";
  EXPECT_TRUE(watch.held_up(late, kNow).drops);
  View next = view_of(3, 2, 2);
  next.number = late.view = 5;
  next.dropping = watch.dropping();
  watch.entered(next);
  late.record = late.round = 4;
  EXPECT_FALSE(watch.held_up(late, kNow).drops);
  late.record = late.round = 5;
  EXPECT_TRUE(watch.held_up(late, kNow).drops) << "the step between was waited for";
}

TEST(ClusterWatch, OnlyAJobThatSaysSoDrops) {
  for (const auto action : {StragglerAction::wait, StragglerAction::shed, StragglerAction::speculate}) {
    ClusterWatch watch(config(action), milliseconds(50));
    watch.entered(view_of(3, 2));
    EXPECT_FALSE(watch.held_up(ready(0, 2), kNow).drops);
    EXPECT_EQ(watch.dropping(), Dropping{});
  }
}

TEST(ClusterWatch, AllGoBackBehindAStepThatWentOnWithoutSome) {
  ClusterWatch watch(config(StragglerAction::drop), milliseconds(50));
  watch.entered(view_of(3, 2));
  EXPECT_TRUE(watch.held_up(ready(0, 2), kNow).drops);
  watch.went_back(3);
  EXPECT_EQ(watch.dropping(), (Dropping{3, {{4, 6}}})) << "it is not done again";
  watch.went_back(2);
  EXPECT_EQ(watch.dropping(), (Dropping{3, {{4, 6}}})) << "they are too late for the first step behind it";
  watch.went_back(1);
  EXPECT_EQ(watch.dropping(), Dropping{});
}

TEST(ClusterWatch, WhoWasLateWhileTheCoordinatorStoodStillMayBeLateNoMore) {
  ClusterWatch watch(config(StragglerAction::evict), milliseconds(50));
  watch.entered(view_of(3, 2));
  watch.begun();
  const auto all = [](const NodeName&) { return true; };
  watch.judge(all, kNow);
  const auto woken = kNow + std::chrono::seconds(30);
  EXPECT_TRUE(watch.held_up(held_up(0, 2), woken).losses.empty()) << "it comes before the first look";
  watch.judge(all, woken);
  EXPECT_TRUE(watch.held_up(held_up(0, 2), woken + milliseconds(1)).losses.empty());
  auto now = woken;
  for (int i = 0; i < 200; ++i) watch.judge(all, now += milliseconds(50));
  EXPECT_TRUE(watch.held_up(held_up(0, 2), now).losses.empty());
  watch.judge(all, now += milliseconds(300));
  EXPECT_EQ(watch.held_up(held_up(0, 2), now).losses.size(), 1u) << "it is said again";
}

TEST(ClusterWatch, ADropOfTheCoordinatorBeforeIsKept) {
  ClusterWatch watch(config(StragglerAction::drop), milliseconds(50));
  View view = view_of(3, 2);
  view.dropping = {17, {{4, 6}}};
  watch.entered(view);
  EXPECT_EQ(watch.dropping(), view.dropping);
}

TEST(ClusterWatch, ALateLoaderIsNamedAndItsReplicaStays) {
  ClusterWatch watch(config(StragglerAction::evict), milliseconds(50));
  watch.entered(view_of(3, 2, 2));
  const auto judgement = watch.held_up(held_up(0, 1, "data"), kNow);
  ASSERT_EQ(judgement.events.size(), 1u);
  EXPECT_EQ(judgement.events[0].text("cause"), "loader 1");
  EXPECT_TRUE(judgement.losses.empty());
}

// All beat every 100 ms from `from` on; judged every 50 ms. What came of it.
ClusterWatch::Judgement live(ClusterWatch& watch, const std::vector<NodeName>& beating, milliseconds from,
                             milliseconds to) {
  ClusterWatch::Judgement all;
  for (milliseconds now = from; now <= to; now += milliseconds(50)) {
    if (now % milliseconds(100) == milliseconds(0)) {
      for (const NodeName& name : beating) watch.heard({name, 0, 0, 0}, now);
    }
    auto judgement = watch.judge(everybody, now);
    all.events.insert(all.events.end(), judgement.events.begin(), judgement.events.end());
    all.losses.insert(all.losses.end(), judgement.losses.begin(), judgement.losses.end());
    if (!all.losses.empty()) break;
  }
  return all;
}

TEST(ClusterWatch, ASilentNodeIsSuspectedThenLost) {
  ClusterWatch watch(config(StragglerAction::wait), milliseconds(50));
  watch.entered(view_of(2, 2));
  watch.begun();
  live(watch, {replica(0), replica(1)}, milliseconds(0), milliseconds(2000));
  const auto all = live(watch, {replica(0)}, milliseconds(2050), milliseconds(4000));
  ASSERT_EQ(all.events.size(), 1u);
  EXPECT_EQ(all.events[0].name, "suspected");
  EXPECT_EQ(all.events[0].integer("replica"), 1);
  ASSERT_EQ(all.losses.size(), 1u);
  EXPECT_EQ(all.losses[0].name, replica(1));
  EXPECT_EQ(all.losses[0].noticed_by, "coordinator");
  EXPECT_EQ(all.losses[0].reason, "silent for 1000 ms");
}

TEST(ClusterWatch, BeforeTheFirstViewIsInForceANodeMayBeSilentForLonger) {
  ClusterWatch watch(config(StragglerAction::wait), milliseconds(50));
  live(watch, {replica(0), replica(1)}, milliseconds(0), milliseconds(2000));
  EXPECT_TRUE(live(watch, {replica(0)}, milliseconds(2050), milliseconds(4000)).losses.empty());
  watch.entered(view_of(2, 2));
  EXPECT_TRUE(live(watch, {replica(0)}, milliseconds(4050), milliseconds(6900)).losses.empty());
  const auto later = live(watch, {replica(0)}, milliseconds(6950), milliseconds(7050));
  ASSERT_FALSE(later.losses.empty());
  EXPECT_EQ(later.losses[0].name, replica(1));
}

TEST(ClusterWatch, ABrokenLinkTakesTheFewestAndADeadNodeIsNotALink) {
  const std::vector<NodeName> all{replica(0), replica(1), replica(2)};
  ClusterWatch watch(config(StragglerAction::wait), milliseconds(50));
  watch.entered(view_of(3, 2));
  watch.begun();
  live(watch, all, milliseconds(0), milliseconds(1000));
  watch.complained({replica(1), 3, true, replica(0), "of an older view"}, milliseconds(1010));
  watch.complained({replica(1), 4, true, replica(0), "no frame"}, milliseconds(1010));
  watch.complained({replica(2), 4, true, replica(0), "no frame"}, milliseconds(1020));
  const auto broken = live(watch, all, milliseconds(1050), milliseconds(2000));
  ASSERT_EQ(broken.losses.size(), 1u);
  EXPECT_EQ(broken.losses[0].name, replica(0)) << "one instead of two, although its number is lower";

  watch.entered(view_of(3, 2));
  watch.complained({replica(0), 4, true, replica(1), "no frame"}, milliseconds(2010));
  const auto dead = live(watch, {replica(0), replica(2)}, milliseconds(2050), milliseconds(4000));
  ASSERT_EQ(dead.losses.size(), 1u);
  EXPECT_EQ(dead.losses[0].name, replica(1));
  EXPECT_EQ(dead.losses[0].noticed_by, "coordinator") << "it is silent: no link is to blame";
}

// Who waited for one on the coordinator's host has complained meanwhile, and that one runs again, too.
TEST(ClusterWatch, WhatWasSaidWhileTheCoordinatorStoodStillIsNotJudged) {
  const std::vector<NodeName> both{replica(0), replica(1)};
  ClusterWatch watch(config(StragglerAction::wait), milliseconds(50));
  watch.entered(view_of(2, 2));
  watch.begun();
  live(watch, both, milliseconds(0), milliseconds(1000));
  watch.complained({replica(1), 4, true, replica(0), "no frame"}, milliseconds(60'000));
  EXPECT_TRUE(live(watch, both, milliseconds(60'000), milliseconds(65'000)).losses.empty());
  watch.complained({replica(1), 4, true, replica(0), "no frame"}, milliseconds(65'010));
  EXPECT_TRUE(live(watch, both, milliseconds(65'050), milliseconds(66'300)).losses.empty())
      << "its own link may have been down meanwhile";
  watch.complained({replica(1), 4, true, replica(0), "no frame"}, milliseconds(66'500));
  EXPECT_FALSE(live(watch, both, milliseconds(66'550), milliseconds(70'000)).losses.empty())
      << "it is broken";
}

TEST(ClusterWatch, ShedsOnlyIfTheJobSaysSo) {
  for (const auto action : {StragglerAction::wait, StragglerAction::shed}) {
    ClusterWatch watch(config(action), milliseconds(50));
    watch.entered(view_of(2, 4));
    std::optional<Shedding::Move> move;
    for (std::uint64_t step = 1; step < 10 && !move; ++step) {
      watch.heard({replica(0), step, step, 0.4}, milliseconds(step * 100));
      watch.heard({replica(1), step, step, 1.2}, milliseconds(step * 100));
      move = watch.shed();
    }
    EXPECT_EQ(move.has_value(), action == StragglerAction::shed);
    const View next = watch.dealt(view_of(2, 4));
    EXPECT_EQ(next.replicas[0].end, move ? 6u : 4u);
    EXPECT_EQ(next.replicas[1].begin, move ? 6u : 4u);
    EXPECT_EQ(next.replicas[1].end, 8u);
  }
}

}  // namespace
}  // namespace muster
