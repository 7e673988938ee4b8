// Members that come back to a coordinator whose journal is older than what they hold.
#include <gtest/gtest.h>

#include "tests/unit/actors/coordinator/nodes/adoption_parts.hpp"

namespace muster {
namespace {

class AdoptionOfNewerView : public AdoptionTest {
 protected:
  Adopt newer_of(const NodeName& who) const {
    Adopt adopt = adopt_of(who);
    adopt.term = 8;
    adopt.view.number = 5;
    return adopt;
  }
};

TEST_F(AdoptionOfNewerView, TheRunGoesOnWithItInAHigherTerm) {
  comes_back(newer_of(kReplica0));
  EXPECT_EQ(job_.run.view.number, 5u);
  EXPECT_EQ(job_.run.term.number(), 9u);
  EXPECT_EQ(log_.all, (PartTexts{"forget all", "event notice", "event restarted", "journal view 5",
                                 "connect replica 0"}));
  EXPECT_EQ(journal_->entry->term, 9u);
}

// That waits for no journal, whose disk may have written the entry of another view of that number late.
TEST_F(AdoptionOfNewerView, TheLastViewOfARunCountsMoreThanOneOfThatNumber) {
  Adopt adopt = adopt_of(kReplica0);
  adopt.view.last = true;
  comes_back(adopt);
  EXPECT_TRUE(job_.run.view.last);
  EXPECT_TRUE(journal_->entry->view.last);
  log_.all.clear();
  adopt = adopt_of(kReplica1);
  adopt.view.last = true;
  comes_back(adopt);
  EXPECT_EQ(log_.all[0], "connect replica 1") << "that view is known now";
}

TEST_F(AdoptionOfNewerView, NoMemberCountsAsBackBeforeTheJournalHasIt) {
  journal_->full = true;
  comes_back(newer_of(kReplica0));
  EXPECT_EQ(log_.all.back(), "event journal_delayed");
  EXPECT_FALSE(job_.membership().alive(kReplica0)) << "it asks again";
}

TEST_F(AdoptionOfNewerView, WhoIsBackAndInThatViewStaysConnected) {
  comes_back(adopt_of(kReplica0));
  log_.all.clear();
  comes_back(newer_of(kReplica1));
  EXPECT_EQ(log_.all[0], "forget others");
  EXPECT_TRUE(port_.knows(kReplica0));
  EXPECT_TRUE(job_.membership().alive(kReplica0));
}

TEST_F(AdoptionOfNewerView, WhoIsBackAndNotInThatViewJoinsAgain) {
  comes_back(adopt_of(kReplica0));
  log_.all.clear();
  Adopt adopt = newer_of(kReplica1);
  adopt.view.replicas.erase(adopt.view.replicas.begin());
  adopt.view.replicas[0].begin = 0;
  comes_back(adopt);
  ASSERT_EQ(log_.all[0], "Stop to replica 0");
  EXPECT_TRUE(port_.sent_to<Stop>(kReplica0)[0].again);
  EXPECT_FALSE(port_.knows(kReplica0));
}

TEST_F(AdoptionOfNewerView, WhatTheJournalSaidOfTheOlderOneIsForgotten) {
  job_.checkpoints.suspects.suspect(3);
  job_.run.lost.push_back(kReplica1);
  job_.run.gathering.place_is_free();
  job_.run.gathering.try_to_begin_anew(true);
  comes_back(newer_of(kReplica0));
  EXPECT_FALSE(job_.checkpoints.suspects.any());
  EXPECT_TRUE(job_.run.lost.empty());
  EXPECT_FALSE(job_.run.gathering.has_free_place());
  EXPECT_FALSE(job_.run.gathering.tries_to_begin_anew());
}

TEST_F(AdoptionOfNewerView, AViewThatMakesNoSenseIsNotBelieved) {
  const auto without_sense = {
      +[](View& view) { view.replicas[1].begin += 1; },          // a shard is nobody's
      +[](View& view) { view.replicas[1].end -= 1; },            // the last one is
      +[](View& view) { view.replicas[0].name.loader = true; },  // a loader has shards
      +[](View& view) { view.loaders = {view.replicas[0]}; },    // a replica loads
      +[](View& view) { view.replicas[1].name.slot = 7; },       // it does not hold whoever tells of it
      +[](View& view) {                                          // shards go back
        view.replicas.push_back(view.replicas[1]);
        view.replicas[0].end = 5;
        view.replicas[1].begin = 5;
        view.replicas[1].end = view.replicas[2].begin;
      }};
  for (const auto change : without_sense) {
    Adopt adopt = newer_of(kReplica1);
    adopt.join.incarnation = 99;  // no member that is waited for
    change(adopt.view);
    comes_back(adopt);
    EXPECT_EQ(job_.run.view.number, 3u);
  }
  Adopt adopt = newer_of(kReplica1);
  adopt.join.incarnation = 99;
  comes_back(adopt);
  EXPECT_EQ(job_.run.view.number, 5u) << "else it is";
}

TEST_F(AdoptionOfNewerView, TheJournalHasItThoughTheTermIsNoHigher) {
  Adopt adopt = newer_of(kReplica0);
  adopt.term = 4;
  comes_back(adopt);
  EXPECT_EQ(journal_->entry->view.number, 5u);
}

TEST_F(AdoptionOfNewerView, WhoIsLostMeanwhileIsToldNothing) {
  comes_back(adopt_of(kReplica0));
  job_.membership().lost(kReplica0);
  comes_back(newer_of(kReplica1));
  EXPECT_TRUE(port_.sent_to<Stop>(kReplica0).empty());
  EXPECT_FALSE(port_.knows(kReplica0));
}

TEST_F(AdoptionOfNewerView, ReportsAndVerdictsOnTheOlderOneAreForgotten) {
  Checkpointed report;
  report.manifest = "tiny-6";
  report.records = report.step = 6;
  job_.checkpoints.known->reported(report);
  job_.checkpoints.verdicts.give_up();
  comes_back(newer_of(kReplica0));
  EXPECT_EQ(job_.checkpoints.known->good_before(9)->manifest, "tiny-4");
  EXPECT_EQ(job_.checkpoints.verdicts.enter(), 1u) << "nothing of it is given up";
}

TEST_F(AdoptionOfNewerView, NoCheckpointWithAVerdictIsTheLastOne) {
  has_a_folder();
  add_verdict(*disk_, kFolderHash, {1, 3});
  Adopt adopt = newer_of(kReplica0);
  adopt.job_hash = kFolderHash;
  adopt.view.history = 1;
  comes_back(adopt);
  EXPECT_EQ(job_.checkpoints.suspects.from(), 3u);
  EXPECT_FALSE(job_.checkpoints.known->any());
}

TEST_F(AdoptionOfNewerView, AStrangerRaisesNoTerm) {
  Adopt adopt = adopt_of(kReplica2);
  adopt.term = 8;
  comes_back(adopt);
  EXPECT_EQ(job_.run.term.number(), 5u);
}

TEST_F(AdoptionOfNewerView, AMemberThatHasHeardOfAHigherTermRaisesIt) {
  Adopt adopt = adopt_of(kReplica0);
  adopt.term = 8;
  comes_back(adopt);
  EXPECT_EQ(job_.run.term.number(), 9u);
}

TEST_F(AdoptionOfNewerView, InAViewThatIsInForceNothingIsLearned) {
  both_come_back();
  job_.run.phase = CoordinatorPhase::running;
  Adopt adopt = newer_of(kReplica0);
  adopt.join.incarnation = 99;
  comes_back(adopt);
  EXPECT_EQ(job_.run.view.number, 3u);
  EXPECT_EQ(job_.run.term.number(), 5u);
}

// --- the journal has no view, and unknown members may come

class AdoptionOfUnknownView : public AdoptionOfNewerView {
 protected:
  AdoptionOfUnknownView() {
    job_.run.phase = CoordinatorPhase::forming;
    job_.run.begun = false;
    job_.run.view = View{};
    job_.run.first_view = 5;
    job_.run.membership = std::make_unique<Membership>(job_.run.setup.job, FreeNumbers{5, 0});
    job_.run.gathering.wait_for_unknown_members(10 * kCoordinatorTick);
  }
};

TEST_F(AdoptionOfUnknownView, TheRunGoesOnWithIt) {
  comes_back(newer_of(kReplica0));
  EXPECT_EQ(job_.run.view.number, 5u);
  EXPECT_EQ(job_.run.phase, CoordinatorPhase::adopting);
  EXPECT_TRUE(job_.membership().alive(kReplica0));
}

TEST_F(AdoptionOfUnknownView, AViewThatWasVoidIsNotBelieved) {
  Adopt adopt = newer_of(kReplica0);
  adopt.view.number = 4;
  comes_back(adopt);
  EXPECT_EQ(job_.run.phase, CoordinatorPhase::forming);
  EXPECT_TRUE(answer().again);
}

TEST_F(AdoptionOfUnknownView, NobodyIsBelievedWhenTheTimeIsOver) {
  while (!job_.run.gathering.wait_ends()) {
  }
  comes_back(newer_of(kReplica0));
  EXPECT_EQ(job_.run.phase, CoordinatorPhase::forming);
}

}  // namespace
}  // namespace muster
