#include "actors/coordinator/states/waits/member_silence.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;
using Change = MemberSilence::Change;
using Sight = MemberSilence::Sight;

constexpr MemberSilence::Time kMemberSilenceStart{1h};

TEST(MemberSilence, LastsUntilMembersAreHeard) {
  MemberSilence silence;
  EXPECT_EQ(silence.see(Sight::clear, kMemberSilenceStart), Change::none);
  EXPECT_FALSE(silence.lasts());
  EXPECT_EQ(silence.see(Sight::all_silent, kMemberSilenceStart), Change::begins);
  EXPECT_TRUE(silence.lasts());
  EXPECT_EQ(silence.see(Sight::all_silent, kMemberSilenceStart + 1s), Change::none);
  EXPECT_EQ(silence.lasted(kMemberSilenceStart + 3s), 3s);
  EXPECT_EQ(silence.see(Sight::clear, kMemberSilenceStart + 3s), Change::ends);
  EXPECT_EQ(silence.lasted(kMemberSilenceStart + 3s), 3s);
  EXPECT_FALSE(silence.lasts());
}

TEST(MemberSilence, BeginsAnewWhereAllAreSilentAfterMostWere) {
  MemberSilence silence;
  EXPECT_EQ(silence.see(Sight::majority_silent, kMemberSilenceStart), Change::begins);
  EXPECT_EQ(silence.see(Sight::all_silent, kMemberSilenceStart + 2s), Change::begins);
  EXPECT_EQ(silence.lasted(kMemberSilenceStart + 3s), 1s);
}

TEST(MemberSilence, IsForgottenWhenTheRunGoesOnWithout) {
  MemberSilence silence;
  silence.see(Sight::all_silent, kMemberSilenceStart);
  silence.goes_on();
  EXPECT_FALSE(silence.lasts());
  EXPECT_EQ(silence.see(Sight::all_silent, kMemberSilenceStart + 1s), Change::begins);
  EXPECT_EQ(silence.lasted(kMemberSilenceStart + 1s), 0s);
}

TEST(MemberSilence, TimeInWhichNobodyCouldBeHeardDoesNotCount) {
  MemberSilence silence;
  silence.see(Sight::all_silent, kMemberSilenceStart);
  silence.stood_still(5s, kMemberSilenceStart + 6s);
  EXPECT_EQ(silence.lasted(kMemberSilenceStart + 6s), 1s);
  silence.stood_still(1h, kMemberSilenceStart + 6s);
  EXPECT_EQ(silence.lasted(kMemberSilenceStart + 6s), 0s);
}

}  // namespace
}  // namespace muster
