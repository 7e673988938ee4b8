#include "actors/replica/states/replica_phase.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

ReplicaPhase running() {
  ReplicaPhase phase;
  phase.enter();
  EXPECT_TRUE(phase.begin());
  return phase;
}

ReplicaPhase::Facts dealt() {
  ReplicaPhase::Facts facts;
  facts.parts_dealt = true;
  return facts;
}

TEST(ReplicaPhase, BeginsHaltedAndRunsFromTheViewsBeginning) {
  ReplicaPhase phase;
  EXPECT_TRUE(phase.is_halted());
  EXPECT_FALSE(phase.is_entering());
  phase.enter();
  EXPECT_TRUE(phase.is_halted());
  EXPECT_TRUE(phase.is_entering());
  EXPECT_EQ(phase.next(dealt()), NextActivity::rest);
  EXPECT_TRUE(phase.begin());
  EXPECT_FALSE(phase.is_halted());
  EXPECT_FALSE(phase.is_entering());
  EXPECT_EQ(phase.next(dealt()), NextActivity::train);
  phase.halt();
  EXPECT_TRUE(phase.is_halted());
  EXPECT_EQ(phase.next(dealt()), NextActivity::answer_halt);
}

TEST(ReplicaPhase, AViewThatBeginsWhileARecordIsAppliedBeginsBehindIt) {
  ReplicaPhase phase = running();
  phase.record_taken();
  EXPECT_TRUE(phase.is_updating());
  phase.halt();
  phase.enter();
  EXPECT_FALSE(phase.begin());
  EXPECT_FALSE(phase.is_halted());
  EXPECT_TRUE(phase.is_entering());
  phase.record_applied();
  EXPECT_EQ(phase.next(dealt()), NextActivity::go_on);
  EXPECT_TRUE(phase.begin());
  EXPECT_EQ(phase.next(dealt()), NextActivity::train);
}

TEST(ReplicaPhase, AViewThatEndsBeforeItBeganIsAnswered) {
  ReplicaPhase phase = running();
  phase.halt();
  phase.enter();
  phase.halt();
  EXPECT_FALSE(phase.is_entering());
  EXPECT_EQ(phase.next(dealt()), NextActivity::answer_halt);
}

TEST(ReplicaPhase, OneThatObservesEntersNoView) {
  ReplicaPhase phase;
  phase.enter();
  phase.observe();
  EXPECT_TRUE(phase.is_halted());
  EXPECT_FALSE(phase.is_entering());
  ReplicaPhase::Facts facts;
  facts.observing = true;
  EXPECT_EQ(phase.next(facts), NextActivity::catch_up);
}

TEST(ReplicaPhase, AViewThatFollowsOneThatWasNotClosedIsEnteredWithoutAHalt) {
  ReplicaPhase phase = running();
  phase.enter();
  EXPECT_FALSE(phase.is_halted());
  EXPECT_TRUE(phase.is_entering());
  EXPECT_EQ(phase.next(dealt()), NextActivity::go_on);
  phase.enter();
  EXPECT_EQ(phase.next(dealt()), NextActivity::go_on) << "and once more";
  phase.observe();
  EXPECT_FALSE(phase.is_halted());
  EXPECT_FALSE(phase.is_entering());
}

TEST(ReplicaPhase, ABeginningThatIsToldTwiceWaitsForTheRecordAllTheSame) {
  ReplicaPhase phase = running();
  phase.record_taken();
  EXPECT_FALSE(phase.begin());
  EXPECT_FALSE(phase.is_entering());
  phase.record_applied();
  EXPECT_EQ(phase.next(dealt()), NextActivity::train);
}

TEST(ReplicaPhase, WhoIsBehindCatchesUpInAViewOnly) {
  ReplicaPhase phase = running();
  ReplicaPhase::Facts facts = dealt();
  facts.behind = true;
  EXPECT_EQ(phase.next(facts), NextActivity::catch_up);
  phase.halt();
  EXPECT_EQ(phase.next(facts), NextActivity::answer_halt);
}

TEST(ReplicaPhase, TheOrderBetweenTwoRecords) {
  const ReplicaPhase phase = running();
  ReplicaPhase::Facts facts;
  facts.comparison_due = facts.last_view = facts.job_finished = facts.evaluates = true;
  EXPECT_EQ(phase.next(facts), NextActivity::deal_parts);
  facts.parts_dealt = true;
  EXPECT_EQ(phase.next(facts), NextActivity::compare_weights);
  facts.comparison_due = false;
  EXPECT_EQ(phase.next(facts), NextActivity::keep_last);
  facts.last_view = false;
  EXPECT_EQ(phase.next(facts), NextActivity::finish);
  facts.job_finished = false;
  EXPECT_EQ(phase.next(facts), NextActivity::evaluate);
  facts.evaluates = false;
  EXPECT_EQ(phase.next(facts), NextActivity::train);
}

}  // namespace
}  // namespace muster
