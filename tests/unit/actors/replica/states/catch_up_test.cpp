#include "actors/replica/states/catch_up.hpp"

#include <gtest/gtest.h>

#include "transport/collective/transfer/transfer_sender.hpp"

namespace muster {
namespace {

CatchUp::Payload payload() {
  return std::make_shared<const std::vector<std::byte>>(3);
}

TEST(CatchUp, ANewcomerTakesOneStateOfItsDonor) {
  CatchUp newcomer;
  EXPECT_FALSE(newcomer.takes_state()) << "a member is given none";
  newcomer.observe(7);
  EXPECT_TRUE(newcomer.observing());
  EXPECT_TRUE(newcomer.refuses(8));
  EXPECT_FALSE(newcomer.refuses(7));
  EXPECT_TRUE(newcomer.takes_state());
  EXPECT_FALSE(newcomer.takes_state());
  EXPECT_FALSE(newcomer.has_state());
  newcomer.state_is_in_place();
  EXPECT_TRUE(newcomer.has_state());
  newcomer.observe(8);
  EXPECT_FALSE(newcomer.has_state()) << "another donor begins anew";
  EXPECT_TRUE(newcomer.takes_state());
}

TEST(CatchUp, RecordsComeInOrderAndAreAcknowledged) {
  CatchUp newcomer;
  newcomer.observe(7);
  newcomer.state_is_in_place();
  const auto sixth = payload(), seventh = payload();
  ASSERT_TRUE(newcomer.keep(7, seventh));
  ASSERT_TRUE(newcomer.keep(5, payload())) << "is in the state already";
  CatchUp::Next next = newcomer.next(5);
  EXPECT_TRUE(next.acknowledge);
  EXPECT_FALSE(next.apply) << "6 has not arrived";
  EXPECT_FALSE(next.caught_up) << "7 has";
  ASSERT_TRUE(newcomer.keep(6, sixth));
  next = newcomer.next(5);
  EXPECT_FALSE(next.acknowledge) << "nothing new was applied";
  EXPECT_EQ(next.apply, sixth);
  next = newcomer.next(6);
  EXPECT_TRUE(next.acknowledge);
  EXPECT_EQ(next.apply, seventh);
  EXPECT_TRUE(newcomer.next(7).caught_up);
}

TEST(CatchUp, ANewcomerSaysOnceForEachRecordThatItHasCaughtUp) {
  CatchUp newcomer;
  newcomer.observe(7);
  newcomer.state_is_in_place();
  EXPECT_TRUE(newcomer.next(5).caught_up);
  EXPECT_FALSE(newcomer.next(5).caught_up);
  EXPECT_TRUE(newcomer.next(6).caught_up);
}

TEST(CatchUp, WhileMoreIsOnItsWayItHasNotCaughtUp) {
  CatchUp newcomer;
  newcomer.observe(7);
  newcomer.state_is_in_place();
  newcomer.arrived(6, 2);
  EXPECT_FALSE(newcomer.next(6).caught_up);
  newcomer.arrived(5, 0);  // older: says nothing of what comes later
  EXPECT_FALSE(newcomer.next(6).caught_up);
  newcomer.arrived(7, 0);
  EXPECT_TRUE(newcomer.next(7).caught_up);
}

TEST(CatchUp, AMemberThatMissesRecordsGoesOnWithTheOthers) {
  CatchUp member;
  member.join(5, 5);
  EXPECT_FALSE(member.behind());
  member.join(5, 6);
  EXPECT_TRUE(member.behind());
  CatchUp::Next next = member.next(5);
  EXPECT_FALSE(next.acknowledge);
  EXPECT_FALSE(next.caught_up);
  const auto sixth = payload();
  ASSERT_TRUE(member.keep(6, sixth));
  EXPECT_EQ(member.next(5).apply, sixth);
  EXPECT_TRUE(member.behind()) << "until it is applied";
  EXPECT_TRUE(member.next(6).caught_up);
  EXPECT_FALSE(member.behind());
}

TEST(CatchUp, WhatWasGivenForOneViewIsNotForTheNext) {
  CatchUp member;
  member.join(5, 7);
  ASSERT_TRUE(member.keep(6, payload()));
  member.join(5, 7);
  EXPECT_FALSE(member.next(5).apply);
  EXPECT_FALSE(member.refuses(3)) << "any member may give it records";
}

TEST(CatchUp, NoMoreRecordsAreKeptThanADonorSends) {
  CatchUp newcomer;
  newcomer.observe(7);
  for (std::uint64_t i = 0; i < kTransferWindowMax; ++i) ASSERT_TRUE(newcomer.keep(i, payload()));
  EXPECT_FALSE(newcomer.keep(kTransferWindowMax, payload()));
}

}  // namespace
}  // namespace muster
