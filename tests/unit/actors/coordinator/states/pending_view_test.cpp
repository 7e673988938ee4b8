#include "actors/coordinator/states/pending_view.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;
using Due = PendingView::Due;

constexpr PendingView::Time kPendingViewStart{1h};
constexpr PendingView::Waiting kForView{true, false, false};
constexpr PendingView::Waiting kForMembers{false, true, false};
constexpr PendingView::Waiting kAnew{false, false, true};

View view_of(std::uint32_t number) {
  View view;
  view.number = number;
  return view;
}

TEST(PendingView, WithoutOneNothingIsDue) {
  const PendingView pending;
  EXPECT_EQ(pending.due({}, kPendingViewStart), Due::nothing);
  EXPECT_EQ(pending.due(kForMembers, kPendingViewStart), Due::nothing) << "no disk has refused";
  EXPECT_EQ(pending.due(kAnew, kPendingViewStart), Due::nothing);
  EXPECT_FALSE(pending.is_over());
  EXPECT_FALSE(pending.refused_until_later(kPendingViewStart));
}

TEST(PendingView, OneThatTheJournalRefusesIsNotedAgainAfterAWait) {
  PendingView pending;
  EXPECT_EQ(pending.refuse(view_of(3), kPendingViewStart, 10s), 100ms);
  EXPECT_EQ(pending.view().number, 3u);
  EXPECT_TRUE(pending.refused_until_later(kPendingViewStart + 99ms));
  EXPECT_EQ(pending.due(kForView, kPendingViewStart + 99ms), Due::nothing);
  EXPECT_FALSE(pending.refused_until_later(kPendingViewStart + 100ms));
  EXPECT_EQ(pending.due(kForView, kPendingViewStart + 100ms), Due::install);
  EXPECT_EQ(pending.refuse(view_of(4), kPendingViewStart + 100ms, 10s), 200ms);
  EXPECT_EQ(pending.view().number, 4u);
}

TEST(PendingView, NothingIsDueThatNobodyWaitsFor) {
  PendingView pending;
  pending.refuse(view_of(3), kPendingViewStart, 10s);
  EXPECT_EQ(pending.due({}, kPendingViewStart + 1s), Due::nothing);
}

TEST(PendingView, MembersThatComeBackWaitForTheJournal) {
  PendingView pending;
  pending.refuse(view_of(3), kPendingViewStart, 10s);
  EXPECT_EQ(pending.due(kForMembers, kPendingViewStart + 99ms), Due::nothing);
  EXPECT_EQ(pending.due(kForMembers, kPendingViewStart + 100ms), Due::lacking);
}

TEST(PendingView, TheJournalIsGivenUpAfterTheLastTry) {
  PendingView pending;
  pending.refuse(view_of(3), kPendingViewStart, 1s);
  EXPECT_EQ(pending.refuse(view_of(3), kPendingViewStart + 900ms, 1s), 100ms) << "the last one";
  EXPECT_FALSE(pending.is_over());
  EXPECT_EQ(pending.refuse(view_of(3), kPendingViewStart + 1s, 1s), 0ms);
  EXPECT_TRUE(pending.is_over());
  for (const auto& waiting : {kForView, kForMembers, kAnew})
    EXPECT_EQ(pending.due(waiting, kPendingViewStart + 1s), Due::give_up);
  EXPECT_EQ(pending.due({}, kPendingViewStart + 1s), Due::nothing);
}

TEST(PendingView, ARunThatBeginsAnewTriesByItselfUntilThen) {
  PendingView pending;
  pending.refuse(view_of(3), kPendingViewStart, 1s);
  EXPECT_EQ(pending.due(kAnew, kPendingViewStart + 500ms), Due::nothing);
}

TEST(PendingView, AJournalThatTakesAViewHasAllItsTimeTheNextTime) {
  PendingView pending;
  pending.refuse(view_of(3), kPendingViewStart, 1s);
  pending.noted();
  EXPECT_FALSE(pending.refused_until_later(kPendingViewStart));
  EXPECT_EQ(pending.refuse(view_of(4), kPendingViewStart + 10s, 1s), 100ms);
  pending.noted();
  pending.drop();
  EXPECT_FALSE(pending.is_over());
}

TEST(PendingView, OneThatWaitsForTheFolderIsMadeAnew) {
  PendingView pending;
  pending.make_at(view_of(3), kPendingViewStart + 2s);
  EXPECT_EQ(pending.due(kForView, kPendingViewStart + 1s), Due::nothing);
  EXPECT_EQ(pending.due(kForView, kPendingViewStart + 2s), Due::make);
  EXPECT_FALSE(pending.refused_until_later(kPendingViewStart + 1s)) << "the journal takes everything";
}

TEST(PendingView, TimeInWhichNobodyCouldTryDoesNotCount) {
  PendingView pending;
  pending.refuse(view_of(3), kPendingViewStart, 1s);
  pending.stood_still(1h, kPendingViewStart + 1h);
  EXPECT_NE(pending.refuse(view_of(3), kPendingViewStart + 1h, 1s), 0ms);
  EXPECT_FALSE(pending.is_over());
}

}  // namespace
}  // namespace muster
