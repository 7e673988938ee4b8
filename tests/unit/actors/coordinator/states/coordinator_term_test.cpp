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
  term.noted();
  EXPECT_FALSE(term.journal_is_behind());
}

TEST(CoordinatorTerm, IsTakenOverForGood) {
  CoordinatorTerm term;
  EXPECT_FALSE(term.taken_over());
  term.take_over();
  EXPECT_TRUE(term.taken_over());
}

}  // namespace
}  // namespace muster
