#include "actors/node/states/own_activity.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr OwnActivity::Time kBegin{100s};
constexpr auto kOwnPatience = 500ms;

TEST(OwnActivity, WhatDoesNotMoveOnIsDoneForSoLong) {
  OwnActivity activity;
  const ProgressStatus computing{Activity::computing, 3, 7};
  EXPECT_EQ(activity.doing(computing, kBegin), 0ms);
  EXPECT_EQ(activity.doing(computing, kBegin + 300ms), 300ms);
  EXPECT_EQ(activity.doing({Activity::computing, 3, 8}, kBegin + 400ms), 0ms) << "it has moved on";
}

TEST(OwnActivity, WhoWaitsForOthersHangsInNothing) {
  OwnActivity activity;
  const ProgressStatus reducing{Activity::reducing, 0, 7};
  activity.doing(reducing, kBegin);
  EXPECT_EQ(activity.doing(reducing, kBegin + 300ms), 0ms);
}

TEST(OwnActivity, ACallLastsUntilTheThreadIsInAnotherOne) {
  OwnActivity activity;
  const ThreadCall call{ThreadCall::Kind::computes, 3, 17, 1}, next{ThreadCall::Kind::computes, 3, 17, 2};
  EXPECT_EQ(activity.in_call(call, kBegin), 0ms);
  EXPECT_EQ(activity.in_call(call, kBegin + 300ms), 300ms);
  EXPECT_EQ(activity.in_call(next, kBegin + 400ms), 0ms);
  EXPECT_EQ(activity.in_call({}, kBegin + 900ms), 0ms) << "it is in none";
}

TEST(OwnActivity, ADataPlaneStandsSinceItWasTold) {
  OwnActivity activity;
  const auto done = activity.tell_data_plane(kBegin);
  ASSERT_TRUE(done);
  EXPECT_EQ(activity.data_plane_stands(kBegin), 0ms);
  EXPECT_FALSE(activity.tell_data_plane(kBegin + 200ms)) << "it has not done it yet";
  EXPECT_EQ(activity.data_plane_stands(kBegin + 200ms), 200ms);
  *done = true;
  EXPECT_TRUE(activity.tell_data_plane(kBegin + 400ms));
  EXPECT_EQ(activity.data_plane_stands(kBegin + 400ms), 0ms);
}

TEST(OwnActivity, TimeInWhichTheProcessDidNotRunDoesNotCount) {
  OwnActivity activity;
  const ProgressStatus computing{Activity::computing, 3, 7};
  const ThreadCall call{ThreadCall::Kind::computes, 3, 17, 1};
  activity.look(kBegin, kOwnPatience);
  activity.doing(computing, kBegin);
  activity.in_call(call, kBegin);
  activity.tell_data_plane(kBegin);
  activity.look(kBegin + 100ms, kOwnPatience);
  EXPECT_EQ(activity.doing(computing, kBegin + 100ms), 100ms) << "it ran";
  const auto later = kBegin + 100ms + 60s;
  activity.look(later, kOwnPatience);
  EXPECT_EQ(activity.doing(computing, later), 100ms);
  EXPECT_EQ(activity.in_call(call, later), 100ms);
  EXPECT_EQ(activity.data_plane_stands(later), 100ms);
}

}  // namespace
}  // namespace muster
