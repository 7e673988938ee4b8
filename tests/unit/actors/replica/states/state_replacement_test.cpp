#include "actors/replica/states/state_replacement.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(StateReplacement, IsWantedUntilTheStateIsInPlace) {
  StateReplacement replacement;
  EXPECT_FALSE(replacement.wanted());
  replacement.enter(true);
  EXPECT_TRUE(replacement.wanted());
  const auto ticket = replacement.ask();
  EXPECT_TRUE(ticket->begin());
  replacement.end();
  EXPECT_TRUE(replacement.wanted()) << "it may have failed";
  replacement.in_place();
  EXPECT_FALSE(replacement.wanted());
  replacement.enter(false);
  EXPECT_FALSE(replacement.wanted());
}

TEST(StateReplacement, OneThatHasNotBegunIsGivenUpWithItsView) {
  StateReplacement replacement;
  replacement.enter(true);
  EXPECT_FALSE(replacement.goes_on()) << "none was asked for";
  const auto ticket = replacement.ask();
  EXPECT_FALSE(replacement.goes_on());
  EXPECT_FALSE(ticket->begin());
  EXPECT_TRUE(replacement.wanted()) << "the next view says what becomes of it";
}

TEST(StateReplacement, OneThatHasBegunIsWaitedForHoweverOftenTheViewIsClosed) {
  StateReplacement replacement;
  replacement.enter(true);
  const auto ticket = replacement.ask();
  EXPECT_TRUE(ticket->begin());
  EXPECT_TRUE(replacement.goes_on());
  EXPECT_TRUE(replacement.goes_on());
  replacement.end();
  EXPECT_FALSE(replacement.goes_on());
}

TEST(StateReplacement, ATicketIsTakenOnce) {
  StateReplacement::Ticket ticket;
  EXPECT_TRUE(ticket.give_up());
  EXPECT_FALSE(ticket.give_up());
  EXPECT_FALSE(ticket.begin());
}

TEST(StateReplacement, ANewViewHasNothingToWaitFor) {
  StateReplacement replacement;
  replacement.enter(true);
  EXPECT_TRUE(replacement.ask()->begin());
  replacement.enter(true);
  EXPECT_FALSE(replacement.goes_on());
}

}  // namespace
}  // namespace muster
