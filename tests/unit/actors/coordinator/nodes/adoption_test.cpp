#include "actors/coordinator/nodes/adoption.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/coordinator/nodes/adoption_parts.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

// --- all come back

TEST_F(AdoptionTest, WhenAllAreBackTheyAreToldAndTheViewGoesOn) {
  comes_back(adopt_of(kReplica0));
  EXPECT_EQ(log_.all, PartTexts{"connect replica 0"}) << "the other one is waited for";
  comes_back(adopt_of(kReplica1));
  EXPECT_EQ(log_.all, (PartTexts{"connect replica 0", "connect replica 1", "event returned",
                                 "Adopted to replica 0", "event returned", "Adopted to replica 1", "go on"}));
  EXPECT_EQ(port_.events.back().integer("replica"), 1);
  EXPECT_EQ(port_.events.back().integer("pid"), 101);
  EXPECT_EQ(port_.sent_to<Adopted>(kReplica0)[0].term, 5u);
}

TEST_F(AdoptionTest, NewcomersAreAdmittedBehindThem) {
  Join join = join_of({false, 77});
  join.joins = true;
  arrivals_.on(join);
  both_come_back();
  const auto gone_on = std::ranges::find(log_.all, "go on");
  ASSERT_NE(gone_on, log_.all.end());
  EXPECT_EQ(PartTexts(gone_on, log_.all.end()),
            (PartTexts{"go on", "journal view 3", "Pulse to replica 0", "Pulse to replica 1",
                       "connect replica 2", "Welcome to replica 2", "event arrived"}));
}

TEST_F(AdoptionTest, TheReportNamesTransportAndLedgerOfTheMembers) {
  Adopt adopt = adopt_of(kReplica0);
  adopt.prepared.transport = "tcp";
  job_.run.view.facts.unit_is_batch = true;
  comes_back(adopt);
  comes_back(adopt_of(kReplica1));
  EXPECT_EQ(job_.run.report.transport, "tcp") << "of the first one";
  EXPECT_EQ(job_.run.report.ledger_unit, "batch");
}

TEST_F(AdoptionTest, AMemberThatHasNotBegunTheViewNeedsAnotherOne) {
  comes_back(adopt_of(kReplica0));
  Adopt adopt = adopt_of(kReplica1);
  adopt.begun = false;
  comes_back(adopt);
  EXPECT_EQ(log_.all.back(), "close view");
}

TEST_F(AdoptionTest, TheViewIsClosedWhereOneIsLost) {
  job_.run.lost.push_back(kReplica2);
  both_come_back();
  EXPECT_EQ(log_.all.back(), "close view");
}

TEST_F(AdoptionTest, TheViewIsClosedWhereOneLeaves) {
  job_.membership().leaving(kReplica1);
  both_come_back();
  EXPECT_EQ(log_.all.back(), "close view");
}

TEST_F(AdoptionTest, TheViewIsClosedWhereTheRunEnds) {
  job_.run.end.keep_state("interrupted", "", {});
  both_come_back();
  EXPECT_EQ(log_.all.back(), "close view");
}

TEST_F(AdoptionTest, TheLastViewOfARunIsMadeAgain) {
  job_.run.view.last = true;
  both_come_back();
  EXPECT_EQ(log_.all.back(), "close view");
}

TEST_F(AdoptionTest, TheViewIsClosedWhereStepsAreSuspected) {
  job_.checkpoints.suspects.suspect(3);
  both_come_back();
  EXPECT_EQ(log_.all.back(), "close view");
}

TEST_F(AdoptionTest, TheViewIsClosedWhereAllAreToBeCompared) {
  job_.checkpoints.suspects.compare_again(3, 3, job_.run.view);
  both_come_back();
  EXPECT_EQ(log_.all.back(), "close view");
}

TEST_F(AdoptionTest, ItsSilenceCountsFromItsReturn) {
  comes_back(adopt_of(kReplica0));
  port_.time += job_.run.setup.job.cluster.detect.patience;
  EXPECT_FALSE(job_.run.watch->in_touch(kReplica0, port_.time));
}

TEST_F(AdoptionTest, ANewcomerIsNoMemberThatIsBack) {
  const NodeName third = newcomer(job_.membership());
  connections_.connect(third, nodes_.add());
  both_come_back();
  EXPECT_TRUE(port_.sent_to<Adopted>(third).empty());
}

// --- who is refused

TEST_F(AdoptionTest, WhoCannotBeAnsweredIsNotAdopted) {
  connections_.caller = node_actor();
  adoption_.on(adopt_of(kReplica0));
  EXPECT_EQ(log_.all, (PartTexts{"event refused", "answer Stop"}));
  EXPECT_FALSE(answer().again);
}

TEST_F(AdoptionTest, AMemberOfAnotherJobIsRefused) {
  Adopt adopt = adopt_of(kReplica0);
  adopt.job_hash = "another";
  comes_back(adopt);
  EXPECT_EQ(log_.all, (PartTexts{"event refused", "answer Stop"}));
  EXPECT_EQ(answer().reason, "it trains another job (other job hash)");
  EXPECT_FALSE(answer().again);
  EXPECT_FALSE(answer().keep) << "this run is as far";
}

TEST_F(AdoptionTest, WhoHoldsMoreThanThisRunKeepsIt) {
  Adopt adopt = adopt_of(kReplica0);
  adopt.job_hash = "another";
  adopt.view.number = 4;
  comes_back(adopt);
  EXPECT_TRUE(answer().keep) << "its view is newer";
  adopt.view.number = 3;
  adopt.join.name = kReplica2;
  comes_back(adopt);
  EXPECT_TRUE(answer().keep) << "the view of this number is another one";
  adopt.begun = false;
  comes_back(adopt);
  EXPECT_FALSE(answer().keep) << "it has done nothing in it";
  adopt.begun = true;
  adopt.view.number = 2;
  comes_back(adopt);
  EXPECT_FALSE(answer().keep) << "its view is older";
}

TEST_F(AdoptionTest, WhoIsNoMemberOfTheLastViewMayJoinAgain) {
  comes_back(adopt_of(kReplica2));
  EXPECT_EQ(log_.all, (PartTexts{"event refused", "answer Stop"}));
  EXPECT_EQ(answer().reason, "replica 2 is no member of the last view; it may join again");
  EXPECT_TRUE(answer().again);
}

TEST_F(AdoptionTest, AMemberThatWasNotToldOfItsViewMayJoinAgain) {
  Adopt adopt = adopt_of(kReplica0);
  adopt.view = View{};
  comes_back(adopt);
  EXPECT_EQ(answer().reason, "it was not told of view 3; it may join again");
  EXPECT_TRUE(answer().again);
}

TEST_F(AdoptionTest, AStrangerIsNoMemberThoughItWasToldOfNoView) {
  job_.run.setup.by_hand = true;
  Adopt adopt = adopt_of(kReplica2);
  adopt.view = View{};
  comes_back(adopt);
  EXPECT_EQ(answer().reason, "replica 2 is no member of the last view; it may join again");
  EXPECT_EQ(log_.all, (PartTexts{"event refused", "answer Stop"})) << "no place is free for it";
}

TEST_F(AdoptionTest, BehindTheEndItIsToldSoAndKeepsItsState) {
  job_.run.end.decide(port_.now());
  job_.checkpoints.suspects.suspect(3);
  comes_back(adopt_of(kReplica0));
  EXPECT_EQ(log_.all, PartTexts{"answer Stop"});
  EXPECT_FALSE(answer().good);
  EXPECT_TRUE(answer().keep);
  EXPECT_EQ(answer().suspect_from, 3u);
  job_.run.report.outcome = "completed";
  comes_back(adopt_of(kReplica0));
  EXPECT_TRUE(answer().good);
}

TEST_F(AdoptionTest, ItWaitsForTheNextCoordinatorWhereThisOneGivesUpTheSilence) {
  job_.run.end.give_up_silence();
  job_.run.end.decide(port_.now());
  comes_back(adopt_of(kReplica0));
  EXPECT_EQ(log_.all, PartTexts{});
}

TEST_F(AdoptionTest, ACoordinatorThatWasTakenOverAnswersNobody) {
  job_.run.term.take_over();
  comes_back(adopt_of(kReplica0));
  EXPECT_EQ(log_.all, PartTexts{});
}

TEST_F(AdoptionTest, NumbersThatItKnowsAreNotGivenAgain) {
  Adopt adopt = adopt_of(kReplica0);
  adopt.free = {9, 2};
  comes_back(adopt);
  EXPECT_EQ(job_.membership().admission().free_numbers(), (FreeNumbers{9, 2}));
}

// --- who does not come back

class AdoptionReturns : public AdoptionTest {
 protected:
  // 500 s: nobody is.
  std::chrono::milliseconds time_until_one_is_lost() {
    int ticks = 1;
    while (!adoption_.judge_returns() && ticks < 10000) ++ticks;
    return ticks * kCoordinatorTick;
  }
  AdoptionReturns() {
    job_.run.setup.job.cluster.detect.patience = 600ms;
    job_.run.setup.job.cluster.orphan_after = 3000ms;
  }
};

TEST_F(AdoptionReturns, TheFirstMayLookForTheCoordinatorForLong) {
  EXPECT_EQ(time_until_one_is_lost(), kReturnMax + 600ms + 3000ms);
  ASSERT_EQ(actions_.all.size(), 2u);
  EXPECT_EQ(actions_.all[0],
            "lost replica 0: it has not come back to the restarted coordinator within 10000 ms");
}

TEST_F(AdoptionReturns, TheOthersFollowSoon) {
  for (int tick = 0; tick < 50; ++tick) adoption_.judge_returns();
  comes_back(adopt_of(kReplica0));
  EXPECT_EQ(time_until_one_is_lost(), kReturnMax + 600ms) << "since the last one came";
  ASSERT_EQ(actions_.all.size(), 1u);
  EXPECT_EQ(actions_.all[0].find("lost replica 1: "), 0u);
}

TEST_F(AdoptionReturns, NobodyIsLateAsLongAsTheJournalIsBehind) {
  job_.run.term.journal_lacks_it();
  EXPECT_EQ(time_until_one_is_lost(), 10000 * kCoordinatorTick);
}

TEST_F(AdoptionReturns, WhereNobodyIsMissingNobodyIsLate) {
  both_come_back();
  EXPECT_EQ(time_until_one_is_lost(), 10000 * kCoordinatorTick);
}

TEST_F(AdoptionReturns, ARunThatEndsWithTheFirstLosesNoMore) {
  actions_.then = [this](const std::string&) { job_.run.end.decide(port_.now()); };
  time_until_one_is_lost();
  EXPECT_EQ(actions_.all.size(), 1u);
}

TEST_F(AdoptionReturns, WhereTheOthersAreBackWithTheFirstLossNobodyElseIsLost) {
  actions_.then = [this](const std::string&) { job_.run.phase = CoordinatorPhase::closing; };
  time_until_one_is_lost();
  EXPECT_EQ(actions_.all.size(), 1u);
}

TEST_F(AdoptionReturns, ARunThatNobodyComesBackToFails) {
  adoption_.none_came_back();
  ASSERT_EQ(actions_.all.size(), 1u);
  EXPECT_EQ(actions_.all[0].find("fail: no member of the last view has come back and stayed; the first is "
                                 "waited for 10000 ms"),
            0u);
  EXPECT_NE(actions_.all[0].find("no checkpoint is here"), std::string::npos);
}

TEST_F(AdoptionReturns, ItFailsWithTheAdviceThatTheFolderAllows) {
  has_a_folder();
  *away_ = Away::all;
  adoption_.none_came_back();
  EXPECT_NE(actions_.all.back().find("checkpoint.folder cannot be read now"), std::string::npos);
  *away_ = Away::no;
  adoption_.none_came_back();
  EXPECT_NE(actions_.all.back().find("go on from a checkpoint with --resume"), std::string::npos);
  job_.checkpoints.known->look();
  *away_ = Away::unmounted;
  adoption_.none_came_back();
  EXPECT_NE(actions_.all.back().find("checkpoint.folder cannot be read now"), std::string::npos);
}

}  // namespace
}  // namespace muster
