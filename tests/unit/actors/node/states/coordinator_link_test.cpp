#include "actors/node/states/coordinator_link.hpp"

#include <gtest/gtest.h>

#include "actors/rules/watch/return_time.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
using Next = CoordinatorLink::Next;

constexpr CoordinatorLink::Time kJoined{100s};

Pulse pulse_of(std::uint64_t term) {
  Pulse pulse;
  pulse.term = term;
  return pulse;
}

TEST(CoordinatorLink, WhatComesOfALowerTermIsOfADeadCoordinator) {
  CoordinatorLink link;
  link.taken_in(2, kJoined);
  EXPECT_FALSE(link.follows(1));
  EXPECT_FALSE(link.heard(pulse_of(1), kJoined));
  EXPECT_EQ(link.term(), 2u);
  EXPECT_TRUE(link.heard(pulse_of(3), kJoined));
  EXPECT_EQ(link.term(), 3u);
  link.adopted(2);
  EXPECT_EQ(link.term(), 3u) << "it never falls";
}

TEST(CoordinatorLink, NumbersThatWereGivenAreRemembered) {
  CoordinatorLink link;
  Pulse pulse;
  pulse.free = {4, 1};
  link.heard(pulse, kJoined);
  pulse.free = {3, 2};
  link.heard(pulse, kJoined);
  EXPECT_EQ(link.free_numbers(), (FreeNumbers{4, 2}));
}

TEST(CoordinatorLink, ASilenceIsToldOfOnceAndItsEndToo) {
  CoordinatorLink link;
  link.taken_in(1, kJoined);
  EXPECT_FALSE(link.falls_silent(kJoined + 400ms, 500ms));
  EXPECT_FALSE(link.ends_silence());
  EXPECT_EQ(link.falls_silent(kJoined + 600ms, 500ms), 600ms);
  EXPECT_FALSE(link.falls_silent(kJoined + 900ms, 500ms));
  EXPECT_TRUE(link.heard(pulse_of(1), kJoined + 1000ms));
  EXPECT_TRUE(link.ends_silence());
  EXPECT_FALSE(link.ends_silence());
  EXPECT_EQ(link.falls_silent(kJoined + 1500ms, 500ms), 500ms) << "it is silent again";
}

TEST(CoordinatorLink, ASilentCoordinatorLetsNobodyGo) {
  CoordinatorLink link;
  link.taken_in(1, kJoined);
  const auto leaving = kJoined + 30s;
  const auto lets_nobody_go = [&](auto after, std::chrono::milliseconds grace) {
    return link.lets_nobody_go(leaving, leaving + after, 500ms, grace);
  };
  EXPECT_FALSE(lets_nobody_go(1s, 60s)) << "it was silent before, and may just have been stopped";
  EXPECT_FALSE(lets_nobody_go(500ms + kReturnMax - 1ms, 60s));
  EXPECT_TRUE(lets_nobody_go(500ms + kReturnMax, 60s));
  EXPECT_TRUE(lets_nobody_go(2s, 4s)) << "half of the grace is left";
  link.heard(pulse_of(1), leaving + 1s);
  EXPECT_FALSE(lets_nobody_go(2s, 4s));
}

TEST(CoordinatorLink, WhoStoodStillItselfCouldHearNobody) {
  CoordinatorLink link;
  link.taken_in(1, kJoined);
  const auto now = kJoined + 60s;
  EXPECT_TRUE(link.lets_nobody_go(kJoined, now, 500ms, 4s));
  link.woke(now);
  EXPECT_FALSE(link.lets_nobody_go(kJoined, now, 500ms, 4s));
  EXPECT_FALSE(link.falls_silent(now, 500ms));
  EXPECT_TRUE(link.lets_nobody_go(kJoined, now + 2s, 500ms, 4s));
}

TEST(CoordinatorLink, WhomTheCoordinatorWaitsForIsNewsOnce) {
  CoordinatorLink link;
  EXPECT_FALSE(link.waits_for_others(""));
  EXPECT_TRUE(link.waits_for_others("1 of 2 replicas is here"));
  EXPECT_FALSE(link.waits_for_others("1 of 2 replicas is here"));
  EXPECT_FALSE(link.waits_for_others("")) << "it waits for nobody any more";
  EXPECT_TRUE(link.waits_for_others("1 of 2 replicas is here"));
}

TEST(CoordinatorLink, OneThatWasFoundIsAskedUntilItAnswersOrTheConnectionIsMadeAnew) {
  for (const bool can_drop : {true, false}) {
    CoordinatorLink link;
    EXPECT_EQ(link.next_try(kJoined, can_drop), Next::wait) << "none was found";
    link.found(kJoined);
    link.asked(kJoined);
    EXPECT_EQ(link.next_try(kJoined + kConnectMax / 2, can_drop), Next::wait);
    EXPECT_EQ(link.next_try(kJoined + kConnectMax, can_drop), Next::ask_again);
    link.asked(kJoined + kConnectMax);
    EXPECT_EQ(link.next_try(kJoined + kReturnMax, can_drop), can_drop ? Next::drop : Next::ask_again);
    EXPECT_EQ(link.next_try(kJoined + 2 * kReturnMax, can_drop), can_drop ? Next::wait : Next::ask_again);
    link.heard(pulse_of(1), kJoined + 2 * kReturnMax);
    EXPECT_EQ(link.next_try(kJoined + 3 * kReturnMax, can_drop), Next::wait) << "it has answered";
  }
}

}  // namespace
}  // namespace muster
