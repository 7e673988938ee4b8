#include <gtest/gtest.h>

#include "muster/actors/rules/straggling.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(StragglerPatience, IsTheJobsOrThreeMedianStepsAndAtLeastASecond) {
  EXPECT_EQ(straggler_patience(milliseconds(250), seconds(10)), milliseconds(250));
  EXPECT_EQ(straggler_patience(std::nullopt, milliseconds(20)), seconds(1));
  EXPECT_EQ(straggler_patience(std::nullopt, seconds(2)), seconds(6));
}

TEST(StepClock, OneSlowStepDoesNotMoveTheMedian) {
  StepClock clock;
  EXPECT_EQ(clock.median(), milliseconds(0));
  for (int i = 0; i < 10; ++i) clock.step_took(milliseconds(400));
  clock.step_took(seconds(90));
  EXPECT_EQ(clock.median(), milliseconds(400));
  for (std::size_t i = 0; i < StepClock::kWindow; ++i) clock.step_took(milliseconds(50));
  EXPECT_EQ(clock.median(), milliseconds(50)) << "old steps are forgotten";
}

// A round that waits since 10 s; peers 1 and 2 are well, heard of just now.
RoundSight sight() {
  RoundSight sight{7, 30, seconds(10), {}};
  for (const std::uint32_t slot : {1u, 2u}) {
    PeerSight peer{slot, true, true, true, milliseconds(11'950), milliseconds(11'950), {}};
    peer.doing = {Activity::reducing, 0, 90};
    sight.peers.push_back(peer);
  }
  return sight;
}
constexpr auto kNow = milliseconds(12'000);

StragglerOptions options() {
  return {milliseconds(1500), milliseconds(1000), seconds(60)};
}

TEST(WhoIsLate, NobodyBeforeThePatience) {
  RoundSight seen = sight();
  seen.peers[0].words_in = false;
  seen.peers[0].doing = {Activity::computing, 3, 91};
  EXPECT_TRUE(who_is_late(seen, options(), milliseconds(11'499)).empty());
  EXPECT_EQ(who_is_late(seen, options(), milliseconds(11'500)).size(), 1u);
}

TEST(WhoIsLate, ComputingDataAndLinkAreToldApart) {
  RoundSight seen = sight();
  PeerSight& peer = seen.peers[1];
  peer.words_in = false;
  peer.doing.activity = Activity::computing;
  auto late = who_is_late(seen, options(), kNow);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].slot, 2u);
  EXPECT_EQ(late[0].cause, LateCause::compute);
  EXPECT_EQ(late[0].waited_for, "its sums");
  EXPECT_EQ(late[0].waited, seconds(2));
  EXPECT_FALSE(late[0].stuck || late[0].link_broken);

  peer.header_in = false;
  peer.doing.activity = Activity::loading;
  late = who_is_late(seen, options(), kNow);
  EXPECT_EQ(late.at(0).cause, LateCause::data);
  EXPECT_EQ(late.at(0).waited_for, "its header");

  peer.doing.activity = Activity::updating;
  EXPECT_EQ(who_is_late(seen, options(), kNow).at(0).cause, LateCause::compute);

  peer.doing.activity = Activity::reducing;
  late = who_is_late(seen, options(), kNow);
  EXPECT_EQ(late.at(0).cause, LateCause::link) << "it says that it has sent what does not come";
  EXPECT_FALSE(late.at(0).link_broken) << "but frames do come";
}

TEST(WhoIsLate, ALinkWithoutAFrameIsBrokenBeforeThePatienceOfStragglers) {
  RoundSight seen = sight();
  seen.peers[0].words_in = false;
  seen.peers[0].doing.activity = Activity::computing;
  seen.peers[0].heard = seconds(10);
  const auto late = who_is_late(seen, options(), milliseconds(11'000));
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].cause, LateCause::link);
  EXPECT_TRUE(late[0].link_broken);
}

TEST(WhoIsLate, SilenceFromBeforeTheWaitIsNotHeldAgainstALink) {
  RoundSight seen = sight();  // in a long step of its own, this member heard of nobody, and asked nobody
  seen.peers[0].words_in = false;
  seen.peers[0].heard = seconds(1);
  EXPECT_TRUE(who_is_late(seen, options(), milliseconds(10'900)).empty());
  EXPECT_TRUE(who_is_late(seen, options(), milliseconds(11'000)).at(0).link_broken);
}

TEST(WhoIsLate, WhatFollowsFromAnothersLatenessIsNotBlamed) {
  RoundSight seen = sight();
  seen.peers[0].sums_in = false;  // it cannot add up what replica 2 has not sent
  seen.peers[1].words_in = false;
  seen.peers[1].doing.activity = Activity::computing;
  auto late = who_is_late(seen, options(), kNow);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].slot, 2u);

  seen.peers[1].words_in = true;
  late = who_is_late(seen, options(), kNow);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].slot, 1u);
  EXPECT_EQ(late[0].waited_for, "the elements that it adds up");
  EXPECT_EQ(late[0].cause, LateCause::link);
}

TEST(WhoIsLate, ACounterThatStandsStillIsStuck) {
  RoundSight seen = sight();
  seen.peers[0].words_in = false;
  seen.peers[0].doing = {Activity::computing, 3, 91};
  seen.peers[0].heard = seconds(80);
  seen.peers[0].progress = seconds(20);
  EXPECT_FALSE(who_is_late(seen, options(), milliseconds(79'999)).at(0).stuck);
  EXPECT_TRUE(who_is_late(seen, options(), seconds(80)).at(0).stuck);
  seen.peers[0].progress = seconds(1);
  EXPECT_FALSE(who_is_late(seen, options(), milliseconds(69'999)).at(0).stuck) << "counted from the wait on";
}

TEST(WhoIsLate, SeveralAreNamedInOrder) {
  RoundSight seen = sight();
  std::swap(seen.peers[0], seen.peers[1]);
  for (PeerSight& peer : seen.peers) peer.words_in = false;
  const auto late = who_is_late(seen, options(), kNow);
  ASSERT_EQ(late.size(), 2u);
  EXPECT_LT(late[0].slot, late[1].slot);
}

TEST(LateMemory, EachIsSaidOnceARound) {
  LateMemory memory;
  Lateness late{2, LateCause::compute, seconds(2), "its sums"};
  EXPECT_TRUE(memory.is_news(1, 5, late));
  EXPECT_FALSE(memory.is_news(1, 5, late));
  late.waited = seconds(3);
  EXPECT_FALSE(memory.is_news(1, 5, late)) << "a longer wait is no news";
  late.stuck = true;
  EXPECT_TRUE(memory.is_news(1, 5, late));
  late.cause = LateCause::link;
  EXPECT_TRUE(memory.is_news(1, 5, late));
  EXPECT_TRUE(memory.is_news(1, 6, late)) << "another round";
  EXPECT_TRUE(memory.is_news(2, 6, late)) << "another view";
}

}  // namespace
}  // namespace muster
