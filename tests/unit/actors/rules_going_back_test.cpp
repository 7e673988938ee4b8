#include "muster/actors/rules/going_back.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using Act = GoingBack::Act;
using Slots = std::vector<std::uint32_t>;

TEST(GoingBack, NothingFollowsWhereAllCan) {
  GoingBack rule;
  EXPECT_EQ(rule.judge({0, 1}).act, Act::nothing) << "nobody has said anything";
  rule.said(0, "");
  EXPECT_EQ(rule.judge({0, 1}).act, Act::wait);
  EXPECT_EQ(rule.judge({0, 1}).slots, Slots{1});
  rule.said(1, "");
  EXPECT_EQ(rule.judge({0, 1}).act, Act::nothing);
}

TEST(GoingBack, WhoCannotWhereOthersCanIsLost) {
  GoingBack rule;
  rule.said(1, "no such file");
  EXPECT_EQ(rule.judge({0, 1, 4}).act, Act::wait);
  EXPECT_EQ(rule.judge({0, 1, 4}).slots, (Slots{0, 4}));
  rule.said(0, "");
  EXPECT_EQ(rule.judge({0, 1, 4}).act, Act::lose) << "the silent one is not to blame";
  EXPECT_EQ(rule.judge({0, 1, 4}).slots, Slots{1});
  rule.said(4, "no such file");
  EXPECT_EQ(rule.judge({0, 1, 4}).act, Act::lose);
  EXPECT_EQ(rule.judge({0, 1, 4}).slots, (Slots{1, 4}));
  EXPECT_EQ(rule.why(4), "no such file");
  EXPECT_EQ(rule.why(0), "");
}

TEST(GoingBack, WhatNobodyCanReadIsPassedOver) {
  GoingBack rule;
  rule.said(0, "its hash is another one");
  rule.said(1, "its hash is another one");
  EXPECT_EQ(rule.judge({0, 1}).act, Act::older);
  EXPECT_EQ(rule.judge({0}).act, Act::older) << "the other one is gone meanwhile";
  rule.entered();
  EXPECT_EQ(rule.judge({0, 1}).act, Act::nothing);
}

TEST(GoingBack, WhatADiskRefusesMayBeWhole) {
  GoingBack rule;
  rule.said(0, "no such file");
  rule.said(1, "Input/output error", true);
  EXPECT_EQ(rule.judge({0, 1}).act, Act::away);
  EXPECT_EQ(rule.refusal(), "Input/output error");
  EXPECT_EQ(rule.judge({0}).act, Act::older) << "the other one is gone meanwhile";
}

}  // namespace
}  // namespace muster
