#include "actors/coordinator/nodes/readiness.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/coordinator/part_test.hpp"

namespace muster {
namespace {

class ReadinessOf : public PartTest {
 protected:
  using PartTest::PartTest;

  // Its data and model are ready, on this host.
  void prepares(const NodeName& who, const std::string& host = "a", const std::string& weights = "aa") {
    Prepared prepared = prepared_of(who);
    prepared.host = host;
    if (!who.loader) prepared.state_sha256 = weights;
    readiness_.on(prepared);
  }
  void joins_and_prepares(const NodeName& who, const std::string& host = "a",
                          const std::string& weights = "aa") {
    job_.membership().admission().join(join_of(who));
    prepares(who, host, weights);
  }
  void reaches(const NodeName& who, const NodeName& about) { readiness_.on(Reached{who, about, {}}); }
  void reaches_not(const NodeName& who, const NodeName& about, const NodeName& peer) {
    readiness_.on(Reached{who, about, {{peer, "b:1", "no answer"}}});
  }

  Readiness readiness_{job_.run, arrivals_, port_, actions_, actions_};
};

// Two replicas that were launched are waited for.
class ReadinessTest : public ReadinessOf {
 protected:
  ReadinessTest() : ReadinessOf(std::make_unique<StartingJob>(2)) {}
};

TEST_F(ReadinessTest, OnOneHostNobodyDials) {
  joins_and_prepares(kReplica0);
  EXPECT_EQ(log_.all, PartTexts{}) << "the other one is waited for";
  joins_and_prepares(kReplica1);
  EXPECT_EQ(log_.all, PartTexts{"install 1"});
}

TEST_F(ReadinessTest, NodesOfTwoHostsDialEachOtherBeforeTheFirstView) {
  joins_and_prepares(kReplica0, "a");
  joins_and_prepares(kReplica1, "b");
  EXPECT_EQ(log_.all, (PartTexts{"Reach to replica 0", "Reach to replica 1"}));
  const Reach known = port_.sent_to<Reach>(kReplica0).at(0), comes = port_.sent_to<Reach>(kReplica1).at(0);
  EXPECT_EQ(known.about, kReplica1);
  EXPECT_EQ(known.peers.at(0).name, kReplica1);
  EXPECT_EQ(comes.about, kReplica1);
  EXPECT_EQ(comes.peers.at(0).name, kReplica0);
  reaches(kReplica0, kReplica1);
  EXPECT_TRUE(actions_.installed.empty()) << "the other way is not known yet";
  reaches(kReplica1, kReplica1);
  EXPECT_EQ(actions_.installed.size(), 1u);
}

TEST_F(ReadinessTest, WhoDoesNotAnswerIsNotWaitedForForever) {
  joins_and_prepares(kReplica0, "a");
  joins_and_prepares(kReplica1, "b");
  readiness_.take_in_reached(kReachPatience - kCoordinatorTick);
  EXPECT_TRUE(actions_.installed.empty());
  readiness_.take_in_reached(kCoordinatorTick);
  EXPECT_EQ(actions_.installed.size(), 1u);
}

TEST_F(ReadinessTest, TheTimeInWhichOneIsNotHeardDoesNotCount) {
  joins_and_prepares(kReplica0, "a");
  joins_and_prepares(kReplica1, "b");
  job_.run.watch->came(kReplica0, {});
  readiness_.take_in_reached(kReachPatience);
  EXPECT_TRUE(actions_.installed.empty());
}

TEST_F(ReadinessTest, ARunOfLaunchedNodesFailsForAClosedPort) {
  joins_and_prepares(kReplica0, "a");
  joins_and_prepares(kReplica1, "b");
  reaches_not(kReplica0, kReplica1, kReplica1);
  ASSERT_EQ(actions_.all.size(), 1u);
  EXPECT_EQ(actions_.all[0].find("fail: replica 0 does not reach b:1"), 0u) << actions_.all[0];
  EXPECT_NE(actions_.all[0].find("no answer"), std::string::npos);
}

TEST_F(ReadinessTest, ByHandThePlaceBehindAClosedPortIsFreeAgain) {
  job_.run.setup.by_hand = true;
  joins_and_prepares(kReplica0, "a");
  joins_and_prepares(kReplica1, "b");
  log_.all.clear();
  reaches_not(kReplica0, kReplica1, kReplica1);
  ASSERT_EQ(log_.all.size(), 2u);
  EXPECT_EQ(log_.all[0].find("turn away replica 1: replica 0 does not reach b:1"), 0u);
  EXPECT_EQ(log_.all[1], "event notice");
  EXPECT_TRUE(actions_.may_return[kReplica1]);
  EXPECT_TRUE(job_.run.gathering.has_free_place());
  reaches(kReplica0, kReplica1);
  reaches(kReplica1, kReplica1);
  EXPECT_TRUE(actions_.installed.empty()) << "nobody owes a report on it any more";
}

TEST_F(ReadinessTest, AFreePlaceIsSaidOnce) {
  job_.run.setup.by_hand = true;
  job_.run.gathering.place_is_free();
  joins_and_prepares(kReplica0, "a");
  joins_and_prepares(kReplica1, "b");
  reaches_not(kReplica0, kReplica1, kReplica1);
  EXPECT_TRUE(port_.events.empty());
}

TEST_F(ReadinessTest, AReportThatIsNotOwedSaysNothing) {
  joins_and_prepares(kReplica0, "a");
  joins_and_prepares(kReplica1, "b");
  reaches_not(kReplica0, kReplica0, kReplica1);
  EXPECT_EQ(actions_.all, PartTexts{});
}

TEST_F(ReadinessTest, WhatIsSaidOfOneThatIsGoneOrBehindTheEndSaysNothing) {
  joins_and_prepares(kReplica0, "a");
  joins_and_prepares(kReplica1, "b");
  job_.membership().lost(kReplica1);
  reaches_not(kReplica1, kReplica1, kReplica0);
  EXPECT_EQ(actions_.all, PartTexts{});
  job_.membership().admission().prepared(prepared_of(kReplica1));
  job_.run.end.decide(port_.now());
  reaches_not(kReplica1, kReplica1, kReplica0);
  EXPECT_EQ(actions_.all, PartTexts{});
}

TEST_F(ReadinessTest, AReportCountsOnlyWhereBothAreHeard) {
  joins_and_prepares(kReplica0, "a");
  joins_and_prepares(kReplica1, "b");
  const auto is_here = [](const NodeName&) { return true; };
  for (const NodeName& silent : {kReplica0, kReplica1}) {
    for (const NodeName& who : {kReplica0, kReplica1}) job_.run.watch->came(who, port_.time);
    const auto half = job_.run.setup.job.cluster.detect.patience / 2;
    for (auto passed = 0 * kCoordinatorTick; passed <= half; passed += kCoordinatorTick) {
      port_.time += kCoordinatorTick;
      job_.run.watch->came(silent == kReplica0 ? kReplica1 : kReplica0, port_.time);
      job_.run.watch->judge(is_here, port_.time);
    }
    ASSERT_FALSE(job_.run.watch->in_touch(silent, port_.time));
    reaches_not(kReplica1, kReplica1, kReplica0);
    EXPECT_EQ(actions_.all, PartTexts{}) << silent.text();
    readiness_.take_in_reached(kCoordinatorTick);  // they are asked again
  }
  for (const NodeName& who : {kReplica0, kReplica1}) job_.run.watch->came(who, port_.time);
  reaches_not(kReplica1, kReplica1, kReplica0);
  EXPECT_EQ(actions_.all.size(), 1u);
}

// The first view is being installed, and does not hold it: it was not ready.
TEST_F(ReadinessTest, OneThatComesLaterThanTheFirstViewIsANewcomer) {
  joins_and_prepares(kReplica0, "a");
  job_.run.view = job_.membership().views().first();
  job_.run.phase = CoordinatorPhase::installing;
  joins_and_prepares(kReplica1, "b");
  log_.all.clear();
  reaches_not(kReplica0, kReplica1, kReplica1);
  ASSERT_EQ(log_.all.size(), 1u);
  EXPECT_EQ(log_.all[0].find("turn away replica 1: "), 0u);
  log_.all.clear();
  prepares(kReplica1, "b", "bb");
  EXPECT_EQ(log_.all, (PartTexts{"event refused", "Stop to replica 1"}));
}

TEST_F(ReadinessTest, APortOfOneThatIsGoneSaysNothing) {
  joins_and_prepares(kReplica0, "a");
  joins_and_prepares(kReplica1, "b");
  job_.membership().lost(kReplica0);
  reaches_not(kReplica1, kReplica1, kReplica0);
  reaches_not(kReplica1, kReplica1, kReplica2);
  EXPECT_EQ(actions_.all, PartTexts{});
}

TEST_F(ReadinessTest, WhereOneOfTheTwoIsNotHeardBothDialAgainAtTheNextTick) {
  joins_and_prepares(kReplica0, "a");
  joins_and_prepares(kReplica1, "b");
  job_.run.watch->came(kReplica0, {});
  log_.all.clear();
  reaches_not(kReplica1, kReplica1, kReplica0);
  EXPECT_EQ(log_.all, PartTexts{});
  readiness_.take_in_reached();
  EXPECT_EQ(log_.all, PartTexts{}) << "no tick has passed";
  readiness_.take_in_reached(kCoordinatorTick);
  EXPECT_EQ(log_.all, (PartTexts{"Reach to replica 0", "Reach to replica 1"}));
}

TEST_F(ReadinessTest, WhatOneOweOverABrokenConnectionIsAskedAgain) {
  joins_and_prepares(kReplica0, "a");
  joins_and_prepares(kReplica1, "b");
  log_.all.clear();
  readiness_.came_back(kReplica0);
  readiness_.take_in_reached(kCoordinatorTick);
  EXPECT_EQ(log_.all, (PartTexts{"Reach to replica 0", "Reach to replica 1"}));
}

TEST_F(ReadinessTest, WhoHasGoneMeanwhileIsNotAskedAgain) {
  joins_and_prepares(kReplica0, "a");
  joins_and_prepares(kReplica1, "b");
  log_.all.clear();
  readiness_.came_back(kReplica0);
  job_.membership().lost(kReplica1);
  readiness_.take_in_reached(kCoordinatorTick);
  EXPECT_EQ(log_.all, PartTexts{});
}

TEST_F(ReadinessTest, ARunThatBeginsAnewOwesNothing) {
  joins_and_prepares(kReplica0, "a");
  joins_and_prepares(kReplica1, "b");
  readiness_.begin_anew();
  readiness_.take_in_reached(kReachPatience);
  EXPECT_EQ(actions_.all, PartTexts{});
}

TEST_F(ReadinessTest, WhoIsDeadOrComesBehindTheEndIsNotReady) {
  joins_and_prepares(kReplica0);
  job_.membership().admission().join(join_of(kReplica1));
  job_.run.end.decide(port_.now());
  prepares(kReplica1);
  EXPECT_EQ(job_.membership().at(kReplica1).stage, NodeStage::joined);
  EXPECT_EQ(actions_.all, PartTexts{});
}

TEST_F(ReadinessTest, WhatALostNodeSaysOfItselfCountsNoMore) {
  job_.membership().admission().join(join_of(kReplica0));
  job_.membership().lost(kReplica0);
  prepares(kReplica0);
  EXPECT_EQ(job_.membership().at(kReplica0).stage, NodeStage::lost);
}

// --- who does not fit the others

TEST_F(ReadinessTest, ARunOfLaunchedNodesFailsForOneThatDoesNotFit) {
  joins_and_prepares(kReplica0);
  joins_and_prepares(kReplica1, "a", "bb");
  ASSERT_EQ(actions_.all.size(), 1u);
  EXPECT_EQ(actions_.all[0].find("fail: replica 1 begins with other weights than replica 0"), 0u);
}

TEST_F(ReadinessTest, BitsOfTheProbeMayDifferWhereTheJobSaysSo) {
  job_.run.setup.job.cluster.reproducible = Reproducible::loose;
  job_.run.membership = std::make_unique<Membership>(job_.run.setup.job);
  joins_and_prepares(kReplica0);
  job_.membership().admission().join(join_of(kReplica1));
  for (const NodeName& who : {kReplica0, kReplica1}) {
    Prepared prepared = prepared_of(who);
    prepared.probe_sha256 = std::to_string(who.slot);
    readiness_.on(prepared);
  }
  EXPECT_EQ(log_.all, (PartTexts{"event notice", "install 1"}));
  EXPECT_NE(port_.events[0].text("text").find("(cluster.reproducible = \"loose\")"), std::string::npos);
}

// Three replicas are started by hand.
class ReadinessByHand : public ReadinessOf {
 protected:
  ReadinessByHand() : ReadinessOf(std::make_unique<StartingJob>(3)) { job_.run.setup.by_hand = true; }
};

TEST_F(ReadinessByHand, OneThatDoesNotFitIsNoticedAndOthersMayShowWhoIsRight) {
  joins_and_prepares(kReplica0);
  joins_and_prepares(kReplica1, "a", "bb");
  EXPECT_EQ(log_.all, PartTexts{"event notice"});
  EXPECT_TRUE(job_.membership().alive(kReplica1));
}

TEST_F(ReadinessByHand, WhenAllAreHereWhoDoesNotFitIsRefused) {
  joins_and_prepares(kReplica0);
  joins_and_prepares(kReplica1);
  joins_and_prepares(kReplica2, "a", "bb");
  EXPECT_EQ(log_.all, (PartTexts{"event refused", "Stop to replica 2", "event notice"}));
  EXPECT_EQ(port_.events[1].text("text").find("the place of replica 2 is free again"), 0u);
}

// Two replicas and a loader, each on a host of its own.
class ReadinessOfALoader : public ReadinessOf {
 protected:
  ReadinessOfALoader() : ReadinessOf(std::make_unique<StartingJob>(2, 1)) {
    joins_and_prepares(kReplica0, "a");
    joins_and_prepares(kReplica1, "b");
    reaches(kReplica0, kReplica1);
    reaches(kReplica1, kReplica1);
    joins_and_prepares(kLoader0, "c");
    log_.all.clear();
  }
};

TEST_F(ReadinessOfALoader, ItsClosedPortIsANoticeAsLongAsItMayServeOthers) {
  reaches_not(kReplica0, kLoader0, kLoader0);
  EXPECT_EQ(log_.all, PartTexts{"event notice"});
  reaches(kReplica1, kLoader0);
  reaches(kLoader0, kLoader0);
  EXPECT_EQ(log_.all, (PartTexts{"event notice", "install 1"}));
}

TEST_F(ReadinessOfALoader, APortThatItDoesNotReachIsANoticeToo) {
  reaches_not(kLoader0, kLoader0, kReplica0);
  EXPECT_EQ(log_.all, PartTexts{"event notice"});
}

TEST_F(ReadinessOfALoader, AReplicaThatDoesNotReachItMayHaveOtherLoaders) {
  job_.run.membership = std::make_unique<Membership>(job_.run.setup.job);
  joins_and_prepares(kLoader0, "c");
  joins_and_prepares(kReplica1, "b");
  log_.all.clear();
  reaches_not(kLoader0, kReplica1, kReplica1);
  EXPECT_EQ(log_.all, PartTexts{"event notice"});
}

TEST_F(ReadinessOfALoader, ItIsRefusedWhenItReachesNoReplica) {
  reaches_not(kReplica0, kLoader0, kLoader0);
  reaches_not(kLoader0, kLoader0, kReplica1);
  ASSERT_EQ(actions_.all.size(), 1u);
  EXPECT_EQ(actions_.all[0].find("fail: loader 0 does not reach b:1"), 0u);
}

TEST_F(ReadinessOfALoader, AReplicaThatIsLostIsNoneThatItServes) {
  job_.membership().lost(kReplica1);
  reaches_not(kReplica0, kLoader0, kLoader0);
  ASSERT_EQ(actions_.all.size(), 1u);
  EXPECT_EQ(actions_.all[0].find("fail: replica 0 does not reach b:1"), 0u);
}

// Two replicas and a loader train.
class ReadinessWhileItRuns : public ReadinessOf {
 protected:
  ReadinessWhileItRuns() : ReadinessOf(std::make_unique<RunningJob>(2, 1)) {}

  NodeName comes(bool loader, const std::string& host = "") {
    Join join = join_of({loader, 77});
    join.joins = true;
    const NodeName name = job_.membership().admission().join(join).name;
    prepares(name, host);
    return name;
  }
};

TEST_F(ReadinessWhileItRuns, AReplicaIsFedAndInterruptsNobody) {
  comes(false);
  EXPECT_EQ(log_.all, PartTexts{"feed newcomers"});
}

TEST_F(ReadinessWhileItRuns, WithoutALoaderAReplicaThatCannotReadIsNotTakenIn) {
  job_.run.membership =
      std::make_unique<Membership>(without_loaders(OnLoaderLoss::load_here, true, job_.run.view));
  comes(false);
  EXPECT_EQ(log_.all, PartTexts{"turn away replica 2: it cannot read the data itself, and no loader process "
                                "came"});
}

TEST_F(ReadinessWhileItRuns, ALoaderIsTakenInAtOnce) {
  comes(true);
  EXPECT_EQ(log_.all, PartTexts{"close view"});
}

TEST_F(ReadinessWhileItRuns, ALoaderWaitsForTheViewThatIsUnderWay) {
  job_.run.phase = CoordinatorPhase::installing;
  comes(true);
  EXPECT_EQ(log_.all, PartTexts{});
}

TEST_F(ReadinessWhileItRuns, APausedRunMayGoOnWithEither) {
  job_.run.phase = CoordinatorPhase::paused;
  comes(true);
  comes(false);
  EXPECT_EQ(log_.all, (PartTexts{"next view", "next view"}));
}

TEST_F(ReadinessWhileItRuns, ANewcomerThatDoesNotFitIsRefused) {
  Join join = join_of({false, 77});
  join.joins = true;
  const NodeName who = job_.membership().admission().join(join).name;
  prepares(who, "", "bb");
  EXPECT_EQ(log_.all, (PartTexts{"event refused", "Stop to replica 2"}));
  EXPECT_FALSE(job_.membership().alive(who));
}

TEST_F(ReadinessWhileItRuns, ANewcomerBehindAClosedPortIsTurnedAwayAndTheRunGoesOn) {
  const NodeName who = comes(false, "b");
  log_.all.clear();
  reaches_not(kReplica0, who, who);
  ASSERT_EQ(log_.all.size(), 1u);
  EXPECT_EQ(log_.all[0].find("turn away replica 2: "), 0u);
  EXPECT_FALSE(job_.run.gathering.has_free_place());
}

}  // namespace
}  // namespace muster
