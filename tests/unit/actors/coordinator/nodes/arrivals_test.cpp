#include "actors/coordinator/nodes/arrivals.hpp"

#include <gtest/gtest.h>

#include "tests/support/idle_nodes.hpp"
#include "tests/unit/actors/coordinator/part_test.hpp"

namespace muster {
namespace {

Join comes_by_itself(bool loader = false) {
  Join join = join_of({loader, 77});
  join.joins = true;
  return join;
}

class ArrivalsOf : public PartTest {
 protected:
  explicit ArrivalsOf(std::unique_ptr<CoordinatorFacts> facts) : PartTest(std::move(facts)) {
    has_a_journal();
    job_.run.setup.job_toml = "the job";
    job_.run.setup.folder_mark = "mark";
    job_.run.setup.placement.devices = {"cpu:4", "cpu:5"};
    connections_.caller = nodes_.add();
  }
  CoordinatorPort::Time now() const { return port_.now(); }

  testing::IdleNodes nodes_;
};

// Two replicas are waited for.
class ArrivalsTest : public ArrivalsOf {
 protected:
  ArrivalsTest() : ArrivalsOf(std::make_unique<StartingJob>(2)) {}

  void joins(const NodeName& who) { arrivals_.on(join_of(who)); }
  void is_ready(const NodeName& who) {
    joins(who);
    job_.membership().admission().prepared(prepared_of(who));
    log_.all.clear();
  }
  Welcome welcome(const NodeName& who) const { return port_.sent_to<Welcome>(who).at(0); }
  // A view that is formed is installed.
  void views_follow() {
    actions_.then = [this](const std::string&) {
      job_.run.view = actions_.installed.back();
      job_.run.phase = CoordinatorPhase::installing;
    };
  }
  // How many ticks pass until the run begins; 100: it does not.
  int ticks_until_it_begins() {
    int ticks = 1;
    while (!arrivals_.begin_with_those_here() && ticks < 100) ++ticks;
    return ticks;
  }
};

TEST_F(ArrivalsTest, ALaunchedNodeIsToldItsPlaceAndTheJob) {
  job_.run.term.follow(4);
  joins(kReplica1);
  EXPECT_EQ(welcome(kReplica1).name, kReplica1);
  EXPECT_EQ(welcome(kReplica1).term, 5u);
  EXPECT_EQ(welcome(kReplica1).job_toml, "the job");
  EXPECT_EQ(welcome(kReplica1).folder_mark, "mark");
  EXPECT_EQ(welcome(kReplica1).device, "cpu:5");
  EXPECT_EQ(job_.membership().at(kReplica1).process.device, "cpu:5");
}

TEST_F(ArrivalsTest, ANodeIsConnectedBeforeItIsWelcomedAndReportedBehindThat) {
  joins(kReplica1);
  EXPECT_EQ(log_.all, (PartTexts{"connect replica 1", "Welcome to replica 1", "event arrived"}));
  EXPECT_TRUE(connections_.is_connection_of(kReplica1, connections_.caller));
}

TEST_F(ArrivalsTest, TheEventCountsThePlacesOfTheFirstView) {
  joins(kReplica1);
  EXPECT_EQ(port_.events[0].integer("replica"), 1);
  EXPECT_EQ(port_.events[0].integer("pid"), 101);
  EXPECT_EQ(port_.events[0].integer("here"), 1);
  EXPECT_EQ(port_.events[0].integer("places"), 2);
}

TEST_F(ArrivalsTest, OneThatComesByItselfHasTheDeviceThatItAsksFor) {
  Join join = comes_by_itself();
  join.device = "cuda:1";
  arrivals_.on(join);
  EXPECT_EQ(welcome(kReplica0).device, "cuda:1");
}

TEST_F(ArrivalsTest, ALaunchedNodeBeyondThePlacementChoosesADeviceOfItsHost) {
  job_.run.setup.placement.devices = {"cpu:4"};
  joins(kReplica1);
  EXPECT_EQ(welcome(kReplica1).device, "cpu:0");
}

TEST_F(ArrivalsTest, ALoaderComputesOnNoDevice) {
  job_.run.setup.job.cluster.loaders = 1;
  job_.run.membership = std::make_unique<Membership>(job_.run.setup.job);
  joins(kLoader0);
  EXPECT_EQ(welcome(kLoader0).device, "-");
}

TEST_F(ArrivalsTest, ALoaderThreadIsForReplicasWithoutLoaderProcesses) {
  joins(kReplica0);
  EXPECT_FALSE(welcome(kReplica0).loader_thread);
  job_.run.setup.placement.loader_threads = 1;
  joins(kReplica1);
  EXPECT_TRUE(welcome(kReplica1).loader_thread);
  job_.run.setup.job.cluster.loaders = 1;
  arrivals_.on(comes_by_itself());
  EXPECT_FALSE(welcome(kReplica2).loader_thread);
}

TEST_F(ArrivalsTest, OnlyNodesOfTheFirstViewReadTheCheckpointOfTheResume) {
  job_.run.setup.resume = Resume{};
  job_.run.setup.resume->manifest = "tiny-4";
  joins(kReplica0);
  EXPECT_EQ(welcome(kReplica0).resume, "tiny-4");
  job_.run.begun = true;
  joins(kReplica1);
  EXPECT_EQ(welcome(kReplica1).resume, "") << "a member gives it the state";
}

TEST_F(ArrivalsTest, TheSilenceOfANodeCountsFromItsArrival) {
  joins(kReplica0);
  port_.time += job_.run.setup.job.cluster.detect.patience;
  EXPECT_FALSE(job_.run.watch->in_touch(kReplica0, port_.time));
}

TEST_F(ArrivalsTest, WhoCannotBeAnsweredIsNotAdmitted) {
  connections_.caller = node_actor();
  joins(kReplica0);
  EXPECT_EQ(port_.events[0].text("reason"), "it has no address to answer to");
  EXPECT_FALSE(job_.membership().alive(kReplica0));
}

TEST_F(ArrivalsTest, NobodyIsAdmittedBehindTheEnd) {
  job_.run.end.decide(now());
  joins(kReplica0);
  EXPECT_EQ(log_.all, (PartTexts{"event refused", "answer Stop"}));
  EXPECT_EQ(connections_.answers[0].reason, "the run has ended");
  EXPECT_FALSE(connections_.answers[0].again);
}

TEST_F(ArrivalsTest, WhomTheMembershipRefusesIsNotWelcome) {
  Join join = join_of(kReplica0);
  ++join.protocol;
  arrivals_.on(join);
  EXPECT_EQ(log_.all, (PartTexts{"event refused", "answer Stop"}));
  EXPECT_EQ(port_.events[0].text("reason"), connections_.answers[0].reason);
  EXPECT_EQ(connections_.answers[0].reason.find("protocol version"), 0u);
}

TEST_F(ArrivalsTest, OneWithANameIsToldOverItsConnection) {
  arrivals_.refuse(kReplica1, "it does not fit");
  EXPECT_EQ(log_.all, (PartTexts{"event refused", "Stop to replica 1"}));
  EXPECT_FALSE(port_.sent_to<Stop>(kReplica1)[0].again);
  EXPECT_EQ(port_.sent_to<Stop>(kReplica1)[0].reason, "it does not fit");
}

// --- callers: a coordinator that was started again waits for the members first

TEST_F(ArrivalsTest, ANewcomerWaitsForTheMembersThatItIsComparedWith) {
  job_.run.phase = CoordinatorPhase::adopting;
  arrivals_.on(comes_by_itself());
  EXPECT_EQ(log_.all, PartTexts{});
  arrivals_.admit_callers();
  EXPECT_EQ(port_.sent_to<Welcome>(kReplica0).size(), 1u);
  arrivals_.admit_callers();
  EXPECT_EQ(port_.events.size(), 1u) << "once";
}

TEST_F(ArrivalsTest, ANewcomerWaitsAsLongAsUnknownMembersMayCome) {
  job_.run.gathering.wait_for_unknown_members(2 * kCoordinatorTick);
  arrivals_.on(comes_by_itself());
  EXPECT_EQ(log_.all, PartTexts{});
  EXPECT_FALSE(arrivals_.begin_with_those_here());
  EXPECT_EQ(log_.all, PartTexts{});
  arrivals_.begin_with_those_here();
  EXPECT_EQ(port_.sent_to<Welcome>(kReplica0).size(), 1u);
}

TEST_F(ArrivalsTest, ItWaitsForKnownMembersForLonger) {
  job_.run.gathering.wait_for_unknown_members(kCoordinatorTick);
  job_.run.phase = CoordinatorPhase::adopting;
  arrivals_.on(comes_by_itself());
  arrivals_.begin_with_those_here();
  EXPECT_EQ(log_.all, PartTexts{});
}

TEST_F(ArrivalsTest, ALaunchedNodeWaitsForNobody) {
  job_.run.phase = CoordinatorPhase::adopting;
  joins(kReplica0);
  EXPECT_EQ(port_.sent_to<Welcome>(kReplica0).size(), 1u);
}

TEST_F(ArrivalsTest, CallersAreRefusedWhenTheRunEnds) {
  job_.run.phase = CoordinatorPhase::adopting;
  arrivals_.on(comes_by_itself());
  arrivals_.refuse_callers("the run has ended");
  EXPECT_EQ(log_.all, (PartTexts{"event refused", "answer Stop"}));
  arrivals_.refuse_callers("the run has ended");
  EXPECT_EQ(connections_.answers.size(), 1u) << "each is told once";
}

TEST_F(ArrivalsTest, BeyondABoundCallersMayTryAgain) {
  job_.run.phase = CoordinatorPhase::adopting;
  for (int i = 0; i < 1024; ++i) arrivals_.on(comes_by_itself());
  EXPECT_TRUE(connections_.answers.empty());
  arrivals_.on(comes_by_itself());
  ASSERT_EQ(connections_.answers.size(), 1u);
  EXPECT_TRUE(connections_.answers[0].again);
}

// --- the first view

TEST_F(ArrivalsTest, TheFirstViewHoldsThoseWhoAreReady) {
  job_.run.first_view = 3;
  is_ready(kReplica0);
  joins(kReplica1);
  arrivals_.form();
  ASSERT_EQ(actions_.installed.size(), 1u);
  EXPECT_EQ(actions_.installed[0].number, 3u);
  ASSERT_EQ(actions_.installed[0].replicas.size(), 1u);
  EXPECT_EQ(actions_.installed[0].replicas[0].name, kReplica0);
}

TEST_F(ArrivalsTest, TheFirstViewOfAResumeBeginsWithItsCheckpoint) {
  job_.run.setup.resume = Resume{};
  job_.run.setup.resume->records = 5;
  job_.checkpoints.known->go_on_from(Checkpointed{"tiny-4", 5, 4});
  is_ready(kReplica0);
  arrivals_.form();
  EXPECT_EQ(actions_.installed.at(0).records, 5u);
  EXPECT_EQ(actions_.installed[0].source.checkpoint, "tiny-4");
  EXPECT_EQ(actions_.installed[0].source.records, 5u);
  EXPECT_EQ(actions_.installed[0].source.step, 4u);
}

TEST_F(ArrivalsTest, TheReportNamesTransportAndLedgerOfTheFirstView) {
  joins(kReplica0);
  Prepared prepared = prepared_of(kReplica0);
  prepared.transport = "tcp";
  prepared.loads = true;
  prepared.facts.unit_is_batch = true;
  job_.membership().admission().prepared(prepared);
  arrivals_.form();
  EXPECT_EQ(job_.run.report.transport, "tcp");
  EXPECT_EQ(job_.run.report.ledger_unit, "batch");
}

TEST_F(ArrivalsTest, ThatDataIsShortIsSaidBeforeTheFirstView) {
  joins(kReplica0);
  Prepared prepared = prepared_of(kReplica0);
  prepared.loads = true;
  prepared.facts.take_asked = 9;
  prepared.facts.take_had = 7;
  job_.membership().admission().prepared(prepared);
  log_.all.clear();
  arrivals_.form();
  EXPECT_EQ(log_.all, (PartTexts{"event exhausted", "install 1"}));
  EXPECT_EQ(port_.events.back().integer("asked"), 9);
  EXPECT_EQ(port_.events.back().integer("had"), 7);
}

TEST_F(ArrivalsTest, NoSecondFirstViewIsFormed) {
  is_ready(kReplica0);
  job_.run.phase = CoordinatorPhase::installing;
  arrivals_.form();
  EXPECT_TRUE(actions_.installed.empty());
}

TEST_F(ArrivalsTest, NoViewIsFormedWhileUnknownMembersMayCome) {
  is_ready(kReplica0);
  job_.run.gathering.wait_for_unknown_members(kCoordinatorTick);
  arrivals_.form();
  EXPECT_TRUE(actions_.installed.empty());
}

TEST_F(ArrivalsTest, NoViewIsFormedBeforeTheJournalSaysThatTheRunBeginsAnew) {
  is_ready(kReplica0);
  job_.run.gathering.try_to_begin_anew(true);
  arrivals_.form();
  EXPECT_TRUE(actions_.installed.empty());
}

TEST_F(ArrivalsTest, ThePlaceOfOneThatDoesNotFitTheOthersIsFreeAgain) {
  is_ready(kReplica0);
  joins(kReplica1);
  Prepared prepared = prepared_of(kReplica1);
  prepared.state_sha256 = "bb";
  job_.membership().admission().prepared(prepared);
  log_.all.clear();
  arrivals_.form();
  EXPECT_EQ(log_.all, (PartTexts{"event refused", "Stop to replica 1", "event notice"}));
  EXPECT_FALSE(job_.membership().alive(kReplica1));
}

// --- by hand: the run begins without those who do not come in time

TEST_F(ArrivalsTest, APlaceStaysFreeForAWhile) {
  job_.run.setup.job.cluster.start_patience = 3 * kCoordinatorTick;
  is_ready(kReplica0);
  EXPECT_EQ(ticks_until_it_begins(), 100) << "no place is free";
  arrivals_.place_is_free(kReplica1);
  EXPECT_EQ(port_.names_of_events().back(), "notice");
  EXPECT_EQ(ticks_until_it_begins(), 3);
  EXPECT_EQ(actions_.all, PartTexts{"install 1"});
  EXPECT_EQ(job_.membership().find(kReplica1), nullptr) << "it is expected no more";
  EXPECT_FALSE(job_.run.gathering.has_free_place());
}

TEST_F(ArrivalsTest, OneThatPreparesIsWaitedForTwiceAsLong) {
  job_.run.setup.job.cluster.start_patience = 3 * kCoordinatorTick;
  is_ready(kReplica0);
  joins(kReplica1);
  arrivals_.place_is_free(kReplica2);
  EXPECT_EQ(ticks_until_it_begins(), 6);
}

TEST_F(ArrivalsTest, TimeInWhichNobodyIsHereDoesNotCount) {
  job_.run.setup.job.cluster.start_patience = 3 * kCoordinatorTick;
  arrivals_.place_is_free(kReplica1);
  EXPECT_EQ(ticks_until_it_begins(), 100);
  is_ready(kReplica0);
  EXPECT_EQ(ticks_until_it_begins(), 3);
}

TEST_F(ArrivalsTest, TimeInWhichNobodyIsHeardDoesNotCount) {
  job_.run.setup.job.cluster.start_patience = 3 * kCoordinatorTick;
  is_ready(kReplica0);
  arrivals_.place_is_free(kReplica1);
  job_.run.silence.see(SelfDoubt::Sight::all_silent, now());
  EXPECT_EQ(ticks_until_it_begins(), 100);
  job_.run.silence.see(SelfDoubt::Sight::clear, now());
  EXPECT_EQ(ticks_until_it_begins(), 3);
}

TEST_F(ArrivalsTest, OnlyARunThatIsFormingBeginsWithFewer) {
  job_.run.setup.job.cluster.start_patience = kCoordinatorTick;
  is_ready(kReplica0);
  arrivals_.place_is_free(kReplica1);
  job_.run.phase = CoordinatorPhase::installing;
  EXPECT_EQ(ticks_until_it_begins(), 100);
  EXPECT_NE(job_.membership().find(kReplica1), nullptr) << "it may still come";
}

TEST_F(ArrivalsTest, ItBeginsNotBeforeTheJournalSaysThatItBeginsAnew) {
  job_.run.setup.job.cluster.start_patience = kCoordinatorTick;
  is_ready(kReplica0);
  arrivals_.place_is_free(kReplica1);
  job_.run.gathering.try_to_begin_anew(true);
  EXPECT_EQ(ticks_until_it_begins(), 100);
}

TEST_F(ArrivalsTest, ItBeginsNotBeforeUnknownMembersCould) {
  job_.run.setup.job.cluster.start_patience = kCoordinatorTick;
  is_ready(kReplica0);
  arrivals_.place_is_free(kReplica1);
  job_.run.gathering.wait_for_unknown_members(5 * kCoordinatorTick);
  EXPECT_EQ(ticks_until_it_begins(), 5);
}

TEST_F(ArrivalsTest, ARunThatBeginsWithAllSaysNothing) {
  job_.run.setup.job.cluster.start_patience = kCoordinatorTick;
  arrivals_.place_is_free(kReplica1);
  is_ready(kReplica0);
  is_ready(kReplica1);
  views_follow();
  EXPECT_TRUE(arrivals_.begin_with_those_here());
  EXPECT_EQ(log_.all, PartTexts{"install 1"});
}

TEST_F(ArrivalsTest, ARunThatDoesNotBeginForOneThatDoesNotFitSaysOnlyThat) {
  job_.run.setup.job.cluster.start_patience = kCoordinatorTick;
  is_ready(kReplica0);
  joins(kReplica1);
  Prepared prepared = prepared_of(kReplica1);
  prepared.state_sha256 = "bb";
  job_.membership().admission().prepared(prepared);
  arrivals_.place_is_free(kReplica1);
  log_.all.clear();
  arrivals_.begin_with_those_here();
  EXPECT_EQ(log_.all, (PartTexts{"event refused", "Stop to replica 1", "event notice"}));
}

TEST_F(ArrivalsTest, TooFewWaitAndItIsSaidOnce) {
  job_.run.setup.job.cluster.start_patience = kCoordinatorTick;
  job_.run.setup.job.cluster.min_replicas = 2;
  job_.run.membership = std::make_unique<Membership>(job_.run.setup.job);
  is_ready(kReplica0);
  arrivals_.place_is_free(kReplica1);
  const std::size_t before = port_.events.size();
  EXPECT_EQ(ticks_until_it_begins(), 100);
  ASSERT_EQ(port_.events.size(), before + 1);
  EXPECT_EQ(port_.events.back().text("text").find("the run begins as soon as there is 1 more"), 0u);
}

TEST_F(ArrivalsTest, ARunThatBeginsWithFewerSaysSo) {
  job_.run.setup.job.cluster.start_patience = kCoordinatorTick;
  is_ready(kReplica0);
  arrivals_.place_is_free(kReplica1);
  log_.all.clear();
  views_follow();
  EXPECT_TRUE(arrivals_.begin_with_those_here());
  EXPECT_EQ(log_.all, (PartTexts{"install 1", "event notice"}));
  EXPECT_EQ(port_.events.back().text("text").find("the run begins with 1 of 2 replicas"), 0u);
}

TEST_F(ArrivalsTest, AFullRunBeginsWhenUnknownMembersAreWaitedForNoLonger) {
  job_.run.gathering.wait_for_unknown_members(2 * kCoordinatorTick);
  is_ready(kReplica0);
  is_ready(kReplica1);
  arrivals_.begin_with_those_here();
  EXPECT_TRUE(actions_.installed.empty());
  arrivals_.begin_with_those_here();
  EXPECT_EQ(actions_.installed.size(), 1u);
}

// Two replicas train; newcomers get new numbers.
class ArrivalsWhileItRuns : public ArrivalsOf {
 protected:
  ArrivalsWhileItRuns() : ArrivalsOf(std::make_unique<RunningJob>(2)) {
    port_.nodes = {kReplica0, kReplica1};
  }
};

TEST_F(ArrivalsWhileItRuns, ANewNumberIsInTheJournalAndKnownToMembersBeforeItsNodeHasIt) {
  arrivals_.on(comes_by_itself());
  EXPECT_EQ(log_.all, (PartTexts{"journal view 1", "Pulse to replica 0", "Pulse to replica 1",
                                 "connect replica 2", "Welcome to replica 2", "event arrived"}));
  EXPECT_EQ(journal_->entry->free.replica, 3u);
  EXPECT_EQ(port_.sent_to<Pulse>(kReplica0)[0].free.replica, 3u);
  EXPECT_FALSE(port_.events[0].has("here")) << "only the first view has places";
}

TEST_F(ArrivalsWhileItRuns, WithoutAnEntryInTheJournalANodeMayTryAgain) {
  journal_->full = true;
  arrivals_.on(comes_by_itself());
  EXPECT_EQ(log_.all, (PartTexts{"event refused", "answer Stop"}));
  EXPECT_EQ(connections_.answers[0].reason, "the journal cannot be written: the disk is full");
  EXPECT_TRUE(connections_.answers[0].again);
  EXPECT_FALSE(job_.membership().alive(kReplica2));
}

}  // namespace
}  // namespace muster
