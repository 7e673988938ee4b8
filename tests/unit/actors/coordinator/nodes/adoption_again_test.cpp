// Members that reach the coordinator again over a new connection, and a first view that is void.
#include <gtest/gtest.h>

#include "tests/unit/actors/coordinator/nodes/adoption_parts.hpp"

namespace muster {
namespace {

// Two replicas are connected, and train in view 1.
class AdoptionAgain : public AdoptionFixture {
 protected:
  AdoptionAgain() {
    for (const NodeName& who : {kReplica0, kReplica1}) {
      arrivals_.on(join_of(who));
      job_.membership().admission().prepared(prepared_of(who));
    }
    job_.run.view = job_.membership().views().first();
    job_.membership().entered(job_.run.view);
    for (const NodeName& who : {kReplica0, kReplica1}) job_.membership().installed(who);
    job_.run.begun = true;
    job_.run.phase = CoordinatorPhase::running;
    log_.all.clear();
  }
  Adopt adopt_of(const NodeName& who) const {
    Adopt adopt;
    adopt.join = join_of(who);
    adopt.prepared = prepared_of(who);
    adopt.view = job_.run.view;
    adopt.begun = true;
    adopt.job_hash = "hash";
    return adopt;
  }
  void comes_again(const Adopt& adopt) {
    connections_.caller = nodes_.add();
    adoption_.on(adopt);
  }
  // It has joined, and a member gives it its state.
  NodeName fed_newcomer() {
    const NodeName who = newcomer(job_.membership());
    job_.membership().transfers().began(who, *job_.membership().transfers().donor());
    return who;
  }
};

TEST_F(AdoptionAgain, OverTheSameConnectionItIsAnsweredAgain) {
  adoption_.on(adopt_of(kReplica0));
  EXPECT_EQ(log_.all, PartTexts{"Adopted to replica 0"});
}

TEST_F(AdoptionAgain, WhileMembersAreToComeBackItHearsItWithTheOthers) {
  job_.run.phase = CoordinatorPhase::adopting;
  adoption_.on(adopt_of(kReplica0));
  EXPECT_EQ(log_.all, PartTexts{});
  comes_again(adopt_of(kReplica0));
  EXPECT_EQ(log_.all, PartTexts{"connect replica 0"});
}

TEST_F(AdoptionAgain, AMemberThatMissedNothingGoesOn) {
  comes_again(adopt_of(kReplica0));
  EXPECT_EQ(log_.all, (PartTexts{"connect replica 0", "Adopted to replica 0"}));
  EXPECT_EQ(port_.sent_to<Adopted>(kReplica0)[0].term, job_.run.term.number());
}

TEST_F(AdoptionAgain, OneThatWasAwayIsConnectedAnewThoughItIsTheSameConnection) {
  job_.run.away.insert(kReplica0);
  adoption_.on(adopt_of(kReplica0));
  EXPECT_EQ(log_.all, (PartTexts{"connect replica 0", "Adopted to replica 0"}));
  EXPECT_TRUE(job_.run.away.empty());
}

TEST_F(AdoptionAgain, AMemberThatMissedTheViewGetsAnotherOne) {
  job_.run.view.number = 2;
  job_.membership().entered(job_.run.view);
  Adopt adopt = adopt_of(kReplica0);
  adopt.view.number = 1;
  comes_again(adopt);
  EXPECT_EQ(log_.all, (PartTexts{"connect replica 0", "Adopted to replica 0", "close view"}));
  EXPECT_EQ(job_.membership().at(kReplica0).view.number, 1u);
}

TEST_F(AdoptionAgain, WhileTheJournalTakesNoViewItIsKnownWhatAMemberMissed) {
  job_.run.phase = CoordinatorPhase::noting;
  Adopt adopt = adopt_of(kReplica0);
  adopt.view.number = 7;
  comes_again(adopt);
  EXPECT_EQ(log_.all, (PartTexts{"connect replica 0", "Adopted to replica 0"}));
  EXPECT_EQ(job_.membership().at(kReplica0).view.number, 7u);
}

TEST_F(AdoptionAgain, ItsSilenceCountsFromItsReturn) {
  job_.run.watch = std::make_unique<ClusterWatch>(job_.run.setup.job.cluster, kCoordinatorTick);
  comes_again(adopt_of(kReplica0));
  port_.time += job_.run.setup.job.cluster.detect.patience;
  EXPECT_FALSE(job_.run.watch->in_touch(kReplica0, port_.time));
}

TEST_F(AdoptionAgain, AMemberThatMissedTheBeginGetsAnotherOne) {
  Adopt adopt = adopt_of(kReplica0);
  adopt.begun = false;
  comes_again(adopt);
  EXPECT_EQ(log_.all.back(), "close view");
}

TEST_F(AdoptionAgain, AViewThatIsBeingInstalledIsMadeAgain) {
  job_.run.phase = CoordinatorPhase::installing;
  comes_again(adopt_of(kReplica0));
  EXPECT_EQ(log_.all, (PartTexts{"connect replica 0", "Adopted to replica 0", "close view"}));
}

TEST_F(AdoptionAgain, WhileAViewIsClosedItIsAskedAgain) {
  job_.run.phase = CoordinatorPhase::closing;
  job_.run.lost = {kReplica1};
  comes_again(adopt_of(kReplica0));
  EXPECT_EQ(log_.all, (PartTexts{"connect replica 0", "Adopted to replica 0", "Close to replica 0"}));
  EXPECT_EQ(port_.sent_to<Close>(kReplica0)[0].lost, std::vector{kReplica1});
  EXPECT_EQ(port_.sent_to<Close>(kReplica0)[0].view, 1u);
}

TEST_F(AdoptionAgain, InAPauseNothingIsOwed) {
  job_.run.phase = CoordinatorPhase::paused;
  Adopt adopt = adopt_of(kReplica0);
  adopt.begun = false;
  comes_again(adopt);
  EXPECT_EQ(log_.all, (PartTexts{"connect replica 0", "Adopted to replica 0"}));
}

TEST_F(AdoptionAgain, ANewcomerJoinsAgain) {
  const NodeName who = newcomer(job_.membership());
  connections_.connect(who, nodes_.add());
  log_.all.clear();
  Adopt adopt = adopt_of(who);
  adopt.join.incarnation = 7077;
  comes_again(adopt);
  EXPECT_EQ(log_.all,
            (PartTexts{"connect replica 2", "turn away replica 2: its connection to the coordinator broke"}));
  EXPECT_TRUE(actions_.may_return[who]);
}

TEST_F(AdoptionAgain, ADonorAndItsNewcomersBeginInANewView) {
  const NodeName who = fed_newcomer();
  comes_again(adopt_of(kReplica1));
  EXPECT_EQ(log_.all,
            (PartTexts{"connect replica 1", "Adopted to replica 1", "Donate to replica 1", "close view"}));
  EXPECT_EQ(port_.sent_to<Donate>(kReplica1)[0].observer.name, who);
  EXPECT_FALSE(port_.sent_to<Donate>(kReplica1)[0].ends);
  EXPECT_TRUE(job_.membership().at(who).source.again) << "in a pause it is fed anew";
}

TEST_F(AdoptionAgain, AMemberThatIsNoDonorAnyMoreIsToldSo) {
  const NodeName who = fed_newcomer();
  job_.membership().lost(who);
  comes_again(adopt_of(kReplica1));
  ASSERT_EQ(port_.sent_to<Donate>(kReplica1).size(), 1u);
  EXPECT_TRUE(port_.sent_to<Donate>(kReplica1)[0].ends);
  EXPECT_EQ(actions_.all, PartTexts{}) << "nobody waits for its state";
}

// --- before the first view

class AdoptionBeforeTheFirstView : public AdoptionFixture {
 protected:
  AdoptionBeforeTheFirstView() {
    for (const NodeName& who : {kReplica0, kReplica1}) arrivals_.on(join_of(who));
    log_.all.clear();
  }
  void comes_again(const NodeName& who, bool ready) {
    Adopt adopt;
    adopt.join = join_of(who);
    if (ready) adopt.prepared = prepared_of({});
    adopt.job_hash = "hash";
    connections_.caller = nodes_.add();
    adoption_.on(adopt);
  }
};

TEST_F(AdoptionBeforeTheFirstView, ANodeIsAnsweredAndPreparesOn) {
  comes_again(kReplica0, false);
  EXPECT_EQ(log_.all, (PartTexts{"connect replica 0", "Adopted to replica 0"}));
  EXPECT_EQ(job_.membership().at(kReplica0).stage, NodeStage::joined);
}

TEST_F(AdoptionBeforeTheFirstView, ThatItIsReadyMayHaveBeenLostOnTheWay) {
  comes_again(kReplica1, true);
  EXPECT_EQ(job_.membership().at(kReplica1).stage, NodeStage::prepared);
  EXPECT_EQ(job_.membership().at(kReplica0).stage, NodeStage::joined);
}

TEST_F(AdoptionBeforeTheFirstView, AlsoWhileTheJournalTakesNoView) {
  job_.run.phase = CoordinatorPhase::noting;
  comes_again(kReplica0, false);
  EXPECT_EQ(log_.all, (PartTexts{"connect replica 0", "Adopted to replica 0"}));
}

TEST_F(AdoptionBeforeTheFirstView, WhatItOwedOfPortsIsAskedAgain) {
  for (const NodeName& who : {kReplica0, kReplica1}) {
    Prepared prepared = prepared_of(who);
    prepared.host = who.text();
    readiness_.on(prepared);
  }
  comes_again(kReplica0, false);
  log_.all.clear();
  readiness_.take_in_reached(kCoordinatorTick);
  EXPECT_EQ(log_.all, (PartTexts{"Reach to replica 0", "Reach to replica 1"}));
}

TEST_F(AdoptionBeforeTheFirstView, WhatItSaidBeforeIsNotSaidTwice) {
  job_.run.setup.by_hand = true;
  job_.membership().admission().prepared(prepared_of(kReplica0));
  Prepared unlike = prepared_of(kReplica1);
  unlike.state_sha256 = "bb";
  job_.membership().admission().prepared(unlike);
  comes_again(kReplica0, true);
  EXPECT_EQ(log_.all, (PartTexts{"connect replica 0", "Adopted to replica 0"}));
}

// --- the first view was in the journal, and nobody was told of it

class AdoptionOfVoidView : public AdoptionFixture {
 protected:
  AdoptionOfVoidView() {
    job_.run.setup.by_hand = true;
    JournalEntry entry = entry_of_view_3();
    entry.view.records = 0;
    entry.view.source = {};
    entry.view.dropping.record = 9;
    entry.first_view = 3;
    journal_->entry = entry;
    adoption_.look_into_journal();
    log_.all.clear();
  }
  void comes_without_view(const NodeName& who) {
    Adopt adopt;
    adopt.join = join_of(who);
    adopt.prepared = prepared_of(who);
    adopt.job_hash = "hash";
    connections_.caller = nodes_.add();
    adoption_.on(adopt);
  }
};

TEST_F(AdoptionOfVoidView, AllJoinAnewOnceTheJournalSaysSo) {
  comes_without_view(kReplica0);
  EXPECT_EQ(log_.all, (PartTexts{"journal view 0", "forget all", "event refused", "answer Stop"}));
  EXPECT_TRUE(connections_.answers[0].again);
  EXPECT_EQ(job_.run.phase, CoordinatorPhase::forming);
  EXPECT_FALSE(job_.run.begun);
  EXPECT_EQ(job_.run.view.number, 0u);
  EXPECT_EQ(job_.run.first_view, 4u) << "no number is given twice";
  EXPECT_EQ(journal_->entry->first_view, 4u);
  EXPECT_TRUE(job_.run.gathering.has_free_place());
  EXPECT_EQ(job_.run.watch->dropping().record, 0u) << "no step was made";
}

TEST_F(AdoptionOfVoidView, NoPlaceHasANumberThatWasGiven) {
  comes_without_view(kReplica0);
  EXPECT_EQ(job_.membership().find(kReplica1), nullptr);
  EXPECT_EQ(journal_->entry->free, (FreeNumbers{4, 0}));
}

TEST_F(AdoptionOfVoidView, WhoIsHereIsToldToJoinAnew) {
  Adopt adopt;
  adopt.join = join_of(kReplica1);
  adopt.prepared = prepared_of(kReplica1);
  adopt.view = job_.run.view;
  adopt.job_hash = "hash";
  adoption_.on(adopt);
  ASSERT_TRUE(job_.membership().alive(kReplica1));
  connections_.connect(kReplica0, nodes_.add());
  job_.run.away = {kReplica1};
  job_.run.lost = {kReplica1};
  adoption_.try_to_begin_anew();
  ASSERT_EQ(port_.sent_to<Stop>(kReplica1).size(), 1u);
  EXPECT_TRUE(port_.sent_to<Stop>(kReplica1)[0].again);
  EXPECT_TRUE(port_.sent_to<Stop>(kReplica0).empty()) << "it is not back";
  EXPECT_TRUE(job_.run.away.empty());
  EXPECT_TRUE(job_.run.lost.empty());
  EXPECT_FALSE(port_.knows(kReplica1));
}

TEST_F(AdoptionOfVoidView, NewcomersWaitAsLongAsUnknownMembersMayCome) {
  Join join = join_of({false, 77});
  join.joins = true;
  arrivals_.on(join);
  adoption_.try_to_begin_anew();
  EXPECT_TRUE(port_.sent.empty());
}

TEST_F(AdoptionOfVoidView, NewcomersJoinWithTheOthersWhenNobodyElseMayCome) {
  Join join = join_of({false, 77});
  join.joins = true;
  arrivals_.on(join);
  while (!job_.run.gathering.wait_ends()) {
  }
  adoption_.try_to_begin_anew();
  EXPECT_EQ(port_.sent_to<Welcome>({false, 2}).size(), 1u);
}

TEST_F(AdoptionOfVoidView, AFullDiskIsTriedAgainAndNothingIsBegunBefore) {
  journal_->full = true;
  comes_without_view(kReplica0);
  EXPECT_EQ(log_.all, PartTexts{"event journal_delayed"}) << "it asks again";
  EXPECT_TRUE(job_.run.gathering.tries_to_begin_anew());
  EXPECT_EQ(job_.run.phase, CoordinatorPhase::adopting);
  EXPECT_EQ(job_.run.first_view, 3u);
  EXPECT_NE(job_.membership().find(kReplica1), nullptr);
  log_.all.clear();
  adoption_.try_to_begin_anew();
  EXPECT_EQ(log_.all, PartTexts{}) << "not before its time";
  journal_->full = false;
  port_.time += std::chrono::seconds(10);
  adoption_.try_to_begin_anew();
  EXPECT_FALSE(job_.run.gathering.tries_to_begin_anew());
  EXPECT_EQ(job_.run.phase, CoordinatorPhase::forming);
}

TEST_F(AdoptionOfVoidView, ADiskThatHasHadItsTimeIsTriedNoMore) {
  job_.run.setup.job.cluster.give_up_after = std::chrono::seconds(1);
  journal_->full = true;
  adoption_.try_to_begin_anew();
  port_.time += std::chrono::seconds(2);
  adoption_.try_to_begin_anew();
  ASSERT_TRUE(job_.run.pending.is_over());
  journal_->full = false;
  port_.time += std::chrono::seconds(2);
  log_.all.clear();
  adoption_.try_to_begin_anew();
  EXPECT_EQ(log_.all, PartTexts{}) << "the run ends for it";
}

TEST_F(AdoptionOfVoidView, ANodeThatIsBackWhileTheDiskIsFullIsWaitedForAnew) {
  job_.run.setup.job.cluster.detect.patience = std::chrono::milliseconds(600);
  job_.run.setup.job.cluster.orphan_after = std::chrono::seconds(3);
  for (int tick = 1; tick < 200; ++tick) adoption_.judge_returns();
  ASSERT_EQ(actions_.all, PartTexts{});
  journal_->full = true;
  comes_without_view(kReplica0);
  adoption_.judge_returns();
  EXPECT_EQ(actions_.all, PartTexts{}) << "10 s have passed, but not since then";
}

TEST_F(AdoptionOfVoidView, ALoaderThatWasNotToldOfItIsBack) {
  Member loader;
  loader.name = kLoader0;
  loader.incarnation = join_of(kLoader0).incarnation;
  JournalEntry entry = *journal_->entry;
  entry.view.loaders = {loader};
  job_.run.view = entry.view;
  job_.membership().entered_before(entry.view, {});
  comes_without_view(kLoader0);
  EXPECT_EQ(log_.all, PartTexts{"connect loader 0"}) << "it has no state";
}

TEST_F(AdoptionOfVoidView, AResumeMayBeginAnew) {
  job_.run.setup.resume = Resume{};
  job_.run.view.records = 4;
  adoption_.try_to_begin_anew();
  EXPECT_EQ(log_.all, (PartTexts{"journal view 0", "forget all"}));
}

TEST_F(AdoptionOfVoidView, ARunThatWasToBeResumedFails) {
  job_.run.view.records = 4;
  job_.run.view.source.checkpoint = "tiny-4";
  adoption_.try_to_begin_anew();
  ASSERT_EQ(actions_.all.size(), 1u);
  EXPECT_EQ(actions_.all[0].find("fail: the run was to go on from tiny-4"), 0u);
}

TEST_F(AdoptionOfVoidView, OneThatIsTakenOverMeanwhileTriesNoMore) {
  journal_->taken = true;
  comes_without_view(kReplica0);
  EXPECT_FALSE(job_.run.gathering.tries_to_begin_anew());
  EXPECT_EQ(log_.all, (PartTexts{"forget all", "event failed", "finish"})) << "it is the other one's";
}

TEST_F(AdoptionOfVoidView, ALauncherStartsOthersItself) {
  adoption_.try_to_begin_anew();
  job_.run.setup.by_hand = false;
  job_.run.gathering.none_is_free();
  log_.all.clear();
  comes_without_view(kReplica0);
  EXPECT_EQ(log_.all, (PartTexts{"event refused", "answer Stop"}));
}

TEST_F(AdoptionOfVoidView, ThatOthersWereHereIsSaidOnce) {
  adoption_.try_to_begin_anew();
  job_.run.gathering.none_is_free();
  log_.all.clear();
  comes_without_view(kReplica0);
  EXPECT_EQ(log_.all, (PartTexts{"event notice", "event refused", "answer Stop"}));
  comes_without_view(kReplica1);
  EXPECT_EQ(log_.all.size(), 5u) << "refused, and no second notice";
}

}  // namespace
}  // namespace muster
