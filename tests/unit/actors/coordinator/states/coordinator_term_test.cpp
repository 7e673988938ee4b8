#include "actors/coordinator/states/coordinator_term.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(CoordinatorTerm, IsHigherThanThatOfTheCoordinatorBefore) {
  CoordinatorTerm term;
  EXPECT_EQ(term.number(), 1u);
  term.follow(4);
  EXPECT_EQ(term.number(), 5u);
}

TEST(CoordinatorTerm, IsNewUntilTheJournalHasIt) {
  CoordinatorTerm term;
  EXPECT_TRUE(term.is_new());
  term.noted();
  EXPECT_FALSE(term.is_new());
  term.rise_above(1);
  EXPECT_TRUE(term.is_new());
}

TEST(CoordinatorTerm, RisesAboveWhatMembersHaveHeard) {
  CoordinatorTerm term;
  term.follow(4);
  term.rise_above(3);
  EXPECT_EQ(term.number(), 5u);
  EXPECT_FALSE(term.journal_is_behind());
  term.rise_above(5);
  EXPECT_EQ(term.number(), 6u);
  EXPECT_TRUE(term.journal_is_behind());
  term.noted();
  EXPECT_FALSE(term.journal_is_behind());
}

TEST(CoordinatorTerm, AJournalMayLackWhatAMemberTold) {
  CoordinatorTerm term;
  term.noted();
  term.journal_lacks_it();
  EXPECT_TRUE(term.journal_is_behind());
  EXPECT_FALSE(term.is_new());
}

TEST(CoordinatorTerm, AnotherWriterOfTheSameTermWasFirst) {
  CoordinatorTerm term;
  term.set_writer(7);
  term.follow(4);
  EXPECT_FALSE(term.is_beaten_by(4, 8));
  EXPECT_TRUE(term.is_beaten_by(5, 8));
  EXPECT_TRUE(term.is_beaten_by(6, 8));
  EXPECT_FALSE(term.is_beaten_by(5, 7)) << "it wrote that itself";
}

TEST(CoordinatorTerm, IsTakenOverForGood) {
  CoordinatorTerm term;
  EXPECT_FALSE(term.taken_over());
  term.take_over();
  EXPECT_TRUE(term.taken_over());
}

}  // namespace
}  // namespace muster
