#include <gtest/gtest.h>

#include "actors/rules/stragglers/straggling.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(StragglerPatience, IsTheJobsOrThreeMedianStepsAndAtLeastASecond) {
  EXPECT_EQ(straggler_patience(milliseconds(250), seconds(10)), milliseconds(250));
  EXPECT_EQ(straggler_patience(std::nullopt, milliseconds(20)), seconds(1));
  EXPECT_EQ(straggler_patience(std::nullopt, seconds(2)), seconds(6));
}

// It has done nothing else in the wait.
void does(PeerSight& peer, Activity activity) {
  peer.doing = {activity, 3, 91};
  peer.spent = {};
  peer.spent[static_cast<std::size_t>(activity)] = seconds(2);
}

// A round that waits since 10 s; peers 1 and 2 are well, and answer.
RoundSight sight() {
  RoundSight sight;
  sight.round = 7;
  sight.step = 30;
  sight.waiting_since = seconds(10);
  for (const std::uint32_t slot : {1u, 2u}) {
    PeerSight peer{slot, true, true, true, true, std::nullopt, milliseconds(11'950), {}, {}, {}};
    does(peer, Activity::reducing);
    sight.peers.push_back(peer);
  }
  return sight;
}
constexpr auto kHeldAt = milliseconds(12'000);

StragglerOptions options() {
  return {milliseconds(1500), milliseconds(1000), seconds(60)};
}

std::vector<Lateness> late_at(RoundSight sight, std::chrono::nanoseconds now) {
  sight.now = now;
  for (PeerSight& peer : sight.peers) {
    if (peer.status_at == seconds(0)) peer.status_at = now;
  }
  return who_is_late(sight, options());
}

TEST(WhoIsLate, NobodyBeforeThePatience) {
  RoundSight seen = sight();
  seen.peers[0].metrics_in = false;
  does(seen.peers[0], Activity::computing);
  EXPECT_TRUE(late_at(seen, milliseconds(11'499)).empty());
  EXPECT_EQ(late_at(seen, milliseconds(11'500)).size(), 1u);
}

TEST(WhoIsLate, WhoTakesNothingOfWhatItIsSentOnceAllElseIsThere) {
  RoundSight seen = sight();
  seen.peers[0].taken = false;
  const auto late = late_at(seen, kHeldAt);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].slot, 1u);
  EXPECT_EQ(late[0].cause, LateCause::link);
  EXPECT_EQ(late[0].waited_for, "it to take what it was sent");
  seen.peers[1].metrics_in = false;
  EXPECT_EQ(late_at(seen, kHeldAt)[0].slot, 2u) << "what is computed comes first";
}

TEST(WhoIsLate, NobodyWhoWasAskedJustNow) {
  RoundSight seen = sight();
  seen.peers[0].metrics_in = false;
  seen.peers[0].spent = {};
  seen.peers[0].unanswered_since = kHeldAt - milliseconds(800);  // of a patience of 1500 ms
  EXPECT_EQ(late_at(seen, kHeldAt).size(), 1u) << "a process that is stopped answers nothing";
  seen.peers[0].unanswered_since = kHeldAt - milliseconds(700);
  EXPECT_TRUE(late_at(seen, kHeldAt).empty());
  seen.peers[1].metrics_in = false;
  EXPECT_TRUE(late_at(seen, kHeldAt).empty()) << "which may wait for that one, in the round before";
}

TEST(WhoIsLate, ComputingDataAndLinkAreToldApart) {
  RoundSight seen = sight();
  PeerSight& peer = seen.peers[1];
  peer.metrics_in = false;
  does(peer, Activity::computing);
  auto late = late_at(seen, kHeldAt);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].slot, 2u);
  EXPECT_EQ(late[0].cause, LateCause::compute);
  EXPECT_EQ(late[0].waited_for, "its sums");
  EXPECT_EQ(late[0].waited, seconds(2));
  EXPECT_FALSE(late[0].stuck || late[0].link_broken);

  peer.header_in = false;
  does(peer, Activity::loading);
  late = late_at(seen, kHeldAt);
  EXPECT_EQ(late.at(0).cause, LateCause::data);
  EXPECT_EQ(late.at(0).waited_for, "its header");

  does(peer, Activity::updating);
  EXPECT_EQ(late_at(seen, kHeldAt).at(0).cause, LateCause::compute);

  does(peer, Activity::reducing);
  late = late_at(seen, kHeldAt);
  EXPECT_EQ(late.at(0).cause, LateCause::link) << "it says that it has sent what does not come";
  EXPECT_FALSE(late.at(0).link_broken) << "but frames do come";
}

TEST(WhoIsLate, ALinkWithoutAFrameIsBrokenBeforeThePatienceOfStragglers) {
  RoundSight seen = sight();
  seen.peers[0].metrics_in = false;
  does(seen.peers[0], Activity::computing);
  seen.peers[0].unanswered_since = seconds(10);
  const auto late = late_at(seen, milliseconds(11'000));
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].cause, LateCause::link);
  EXPECT_TRUE(late[0].link_broken);
}

TEST(WhoIsLate, AStepIsReadyToGoOnWithoutItOnlyIfOthersHaveSamples) {
  RoundSight seen = sight();
  seen.peers[0].metrics_in = false;
  does(seen.peers[0], Activity::computing);
  EXPECT_TRUE(late_at(seen, kHeldAt).at(0).ready);
  seen.peers[1].samples = false;
  EXPECT_FALSE(late_at(seen, kHeldAt).at(0).ready) << "nothing would be left";
  seen.samples = true;
  EXPECT_TRUE(late_at(seen, kHeldAt).at(0).ready);
}

TEST(WhoIsLate, SilenceCountsFromTheFirstQuestionOn) {
  RoundSight seen = sight();  // while it owed nothing it was not asked, and had no reason to speak
  seen.peers[0].metrics_in = false;
  EXPECT_TRUE(late_at(seen, milliseconds(11'400)).empty());
  seen.peers[0].unanswered_since = milliseconds(10'200);
  EXPECT_TRUE(late_at(seen, milliseconds(11'199)).empty());
  EXPECT_TRUE(late_at(seen, milliseconds(11'200)).at(0).link_broken);
}

TEST(WhoIsLate, WhatFollowsFromAnothersLatenessIsNotBlamed) {
  RoundSight seen = sight();
  seen.peers[0].sums_in = false;  // it cannot add up what replica 2 has not sent
  seen.peers[1].metrics_in = false;
  does(seen.peers[1], Activity::computing);
  auto late = late_at(seen, kHeldAt);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].slot, 2u);

  seen.peers[1].metrics_in = true;
  late = late_at(seen, kHeldAt);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].slot, 1u);
  EXPECT_EQ(late[0].waited_for, "the elements that it adds up");
  EXPECT_EQ(late[0].cause, LateCause::link);
}

TEST(WhoIsLate, TheCauseIsWhatTookMostOfTheWait) {
  RoundSight seen = sight();
  PeerSight& peer = seen.peers[0];
  peer.metrics_in = false;
  does(peer, Activity::computing);
  peer.spent[static_cast<std::size_t>(Activity::loading)] = seconds(4);
  EXPECT_EQ(late_at(seen, kHeldAt).at(0).cause, LateCause::data) << "it computes now, but waited for data";
  peer.spent[static_cast<std::size_t>(Activity::updating)] = seconds(3);
  EXPECT_EQ(late_at(seen, kHeldAt).at(0).cause, LateCause::compute);
}

// It answers once a heartbeat: it may have computed for a moment only.
TEST(WhoIsLate, WhoLoadsStillIsNotBlamedForAsLongAComputation) {
  RoundSight seen = sight();
  PeerSight& peer = seen.peers[0];
  peer.metrics_in = false;
  does(peer, Activity::loading);
  peer.spent[static_cast<std::size_t>(Activity::computing)] = seconds(4);
  EXPECT_EQ(late_at(seen, kHeldAt).at(0).cause, LateCause::data);
  peer.spent[static_cast<std::size_t>(Activity::computing)] += milliseconds(1);
  EXPECT_EQ(late_at(seen, kHeldAt).at(0).cause, LateCause::compute);
}

TEST(WhoIsLate, ElementsAreWaitedForFromTheLastReportOn) {
  RoundSight seen = sight();
  seen.peers[0].sums_in = false;
  seen.last_report_at = milliseconds(11'900);  // a late one said it; nobody else is to blame for that
  EXPECT_TRUE(late_at(seen, milliseconds(12'000)).empty());
  EXPECT_EQ(late_at(seen, milliseconds(13'400)).size(), 1u);
}

// A member that may not send its metrics before all headers are there is not blamed for the last of these.
// It computed before the wait for its elements began, and may wait for those of another.
TEST(WhoIsLate, WhatOneComputedBeforeItPassesSumsOnIsNotTheCause) {
  RoundSight seen = sight();
  seen.peers[0].sums_in = false;
  does(seen.peers[0], Activity::computing);
  EXPECT_EQ(late_at(seen, kHeldAt)[0].cause, LateCause::compute) << "it computes still";
  seen.peers[0].doing.activity = Activity::reducing;
  EXPECT_EQ(late_at(seen, kHeldAt)[0].cause, LateCause::link);
}

TEST(WhoIsLate, MetricsThatFollowHeadersAreWaitedForFromThoseOn) {
  RoundSight seen = sight();
  seen.peers[0].metrics_in = false;
  seen.last_report_at = milliseconds(11'900);
  EXPECT_EQ(late_at(seen, kHeldAt).size(), 1u);
  seen.metrics_follow = true;
  EXPECT_TRUE(late_at(seen, kHeldAt).empty());
  EXPECT_EQ(late_at(seen, milliseconds(13'400)).size(), 1u);
  seen.peers[1].header_in = seen.peers[1].metrics_in = false;
  EXPECT_EQ(late_at(seen, kHeldAt).at(0).slot, 2u) << "a header waits for nobody";
}

TEST(WhoIsLate, ACounterThatStandsStillIsStuck) {
  RoundSight seen = sight();
  seen.peers[0].metrics_in = false;
  does(seen.peers[0], Activity::computing);
  seen.peers[0].progress = seconds(20);
  EXPECT_FALSE(late_at(seen, milliseconds(79'999)).at(0).stuck);
  EXPECT_TRUE(late_at(seen, seconds(80)).at(0).stuck);
  seen.peers[0].progress = seconds(1);
  EXPECT_FALSE(late_at(seen, milliseconds(69'999)).at(0).stuck) << "counted from the wait on";
}

TEST(WhoIsLate, WhoWaitedForTheLastReportItselfIsNotStuck) {
  RoundSight seen = sight();
  seen.peers[0].sums_in = false;
  does(seen.peers[0], Activity::computing);
  seen.peers[0].progress = seconds(9);
  seen.last_report_at = seconds(100);
  EXPECT_TRUE(late_at(seen, seconds(101)).empty());
  EXPECT_FALSE(late_at(seen, milliseconds(159'999)).at(0).stuck);
  EXPECT_TRUE(late_at(seen, seconds(160)).at(0).stuck);
}

TEST(WhoIsLate, WhoseReportsDoNotComeIsNotStuck) {
  RoundSight seen = sight();
  seen.peers[0].metrics_in = false;
  does(seen.peers[0], Activity::computing);
  seen.peers[0].progress = seconds(11);
  seen.peers[0].status_at = seconds(70);
  EXPECT_FALSE(late_at(seen, seconds(200)).at(0).stuck) << "pings of it come, and no answers";
  seen.peers[0].unanswered_since = seconds(190);
  StragglerOptions patient = options();
  patient.link_patience = seconds(300);
  seen.now = seconds(249);
  EXPECT_FALSE(who_is_late(seen, patient).at(0).stuck);
  seen.now = seconds(250);
  EXPECT_TRUE(who_is_late(seen, patient).at(0).stuck) << "nothing of it comes";
  seen.peers[0].unanswered_since.reset();
  seen.peers[0].status_at = seconds(71);
  EXPECT_TRUE(late_at(seen, seconds(200)).at(0).stuck);
}

// Parts of the state are dealt: a thread of the second one hangs.
TEST(WhoIsLate, WhoWaitsForAnotherBeforeTheRoundIsNotBlamed) {
  RoundSight seen = sight();
  for (PeerSight& peer : seen.peers) peer.header_in = peer.metrics_in = peer.sums_in = false;
  does(seen.peers[1], Activity::updating);
  const auto late = late_at(seen, kHeldAt);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].slot, 2u);
  does(seen.peers[1], Activity::reducing);
  EXPECT_EQ(late_at(seen, kHeldAt).size(), 2u) << "one of them, or its link";
}

TEST(WhoIsLate, SeveralAreNamedInOrder) {
  RoundSight seen = sight();
  std::swap(seen.peers[0], seen.peers[1]);
  for (PeerSight& peer : seen.peers) peer.metrics_in = false;
  const auto late = late_at(seen, kHeldAt);
  ASSERT_EQ(late.size(), 2u);
  EXPECT_LT(late[0].slot, late[1].slot);
}

TEST(LateMemory, OneIsSaidAgainAfterEachPatience) {
  LateMemory memory;
  Lateness late;
  late.waited = milliseconds(500);
  EXPECT_TRUE(memory.is_news(1, 5, late, seconds(1)));
  EXPECT_FALSE(memory.is_news(1, 5, late, seconds(1)));
  late.waited = milliseconds(1100);
  EXPECT_TRUE(memory.is_news(1, 5, late, seconds(1)));
  late.waited = milliseconds(1900);
  EXPECT_FALSE(memory.is_news(1, 5, late, seconds(1)));
  late.waited = milliseconds(3000);
  EXPECT_TRUE(memory.is_news(1, 5, late, seconds(1)));
}

TEST(LateMemory, WhatIsNewIsSaidAtOnce) {
  LateMemory memory;
  Lateness late;
  late.slot = 2;
  late.waited = seconds(2);
  EXPECT_TRUE(memory.is_news(1, 5, late, seconds(1)));
  EXPECT_FALSE(memory.is_news(1, 5, late, seconds(1)));
  late.waited = milliseconds(2900);
  EXPECT_FALSE(memory.is_news(1, 5, late, seconds(1))) << "a longer wait is no news";
  late.stuck = true;
  EXPECT_TRUE(memory.is_news(1, 5, late, seconds(1)));
  late.cause = LateCause::link;
  EXPECT_TRUE(memory.is_news(1, 5, late, seconds(1)));
  EXPECT_TRUE(memory.is_news(1, 6, late, seconds(1))) << "another round";
  EXPECT_TRUE(memory.is_news(2, 6, late, seconds(1))) << "another view";
}

}  // namespace
}  // namespace muster
