#include "actors/rules/steps/going_back.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using Slots = std::vector<std::uint32_t>;

TEST(GoingBack, NothingFollowsWhereAllCan) {
  GoingBack rule;
  EXPECT_EQ(rule.judge({0, 1}).act, GoingBack::Act::nothing) << "nobody has said anything";
  rule.said(0, "");
  EXPECT_EQ(rule.judge({0, 1}).act, GoingBack::Act::wait);
  EXPECT_EQ(rule.judge({0, 1}).slots, Slots{1});
  rule.said(1, "");
  EXPECT_EQ(rule.judge({0, 1}).act, GoingBack::Act::nothing);
}

TEST(GoingBack, WhoCannotWhereOthersCanIsLost) {
  GoingBack rule;
  rule.said(1, "no such file");
  EXPECT_EQ(rule.judge({0, 1, 4}).act, GoingBack::Act::wait);
  EXPECT_EQ(rule.judge({0, 1, 4}).slots, (Slots{0, 4}));
  rule.said(0, "");
  EXPECT_EQ(rule.judge({0, 1, 4}).act, GoingBack::Act::lose) << "the silent one is not to blame";
  EXPECT_EQ(rule.judge({0, 1, 4}).slots, Slots{1});
  rule.said(4, "no such file");
  EXPECT_EQ(rule.judge({0, 1, 4}).act, GoingBack::Act::lose);
  EXPECT_EQ(rule.judge({0, 1, 4}).slots, (Slots{1, 4}));
  EXPECT_EQ(rule.why(4), "no such file");
  EXPECT_EQ(rule.why(0), "");
}

TEST(GoingBack, WhatNobodyCanReadIsPassedOver) {
  GoingBack rule;
  rule.said(0, "its hash is another one");
  rule.said(1, "its hash is another one");
  EXPECT_EQ(rule.judge({0, 1}).act, GoingBack::Act::older);
  EXPECT_EQ(rule.judge({0}).act, GoingBack::Act::older) << "the other one is gone meanwhile";
  rule.entered();
  EXPECT_EQ(rule.judge({0, 1}).act, GoingBack::Act::nothing);
}

TEST(GoingBack, WhatADiskRefusesMayBeWhole) {
  GoingBack rule;
  rule.said(0, "no such file", Unread::gone);
  rule.said(1, "Input/output error", Unread::refused);
  EXPECT_EQ(rule.judge({0, 1}).act, GoingBack::Act::away);
  EXPECT_EQ(rule.refusal(), "Input/output error");
  EXPECT_EQ(rule.judge({0}).act, GoingBack::Act::gone) << "the other one is lost meanwhile";
}

TEST(GoingBack, WhoHasReadItKnowsThatItIsDamaged) {
  GoingBack rule;
  rule.said(0, "its hash is another one");
  rule.said(1, "Input/output error", Unread::refused);
  rule.said(2, "no such file", Unread::gone);
  EXPECT_EQ(rule.judge({0, 1, 2}).act, GoingBack::Act::older);
  EXPECT_EQ(rule.judge({1, 2}).act, GoingBack::Act::away);
  EXPECT_TRUE(rule.any_has_read());
  EXPECT_EQ(rule.why(), "its hash is another one");
  rule.entered();
  rule.said(0, "");
  rule.said(2, "no such file", Unread::gone);
  EXPECT_FALSE(rule.any_has_read());
  EXPECT_EQ(rule.unread(2), Unread::gone);
  EXPECT_EQ(rule.unread(0), Unread::no);
}

TEST(GoingBack, SaysWhetherAnyCan) {
  GoingBack rule;
  rule.said(0, "no such file", Unread::gone);
  EXPECT_FALSE(rule.judge({0, 1}).any_can) << "who is silent may try again, in its own time";
  rule.said(1, "");
  EXPECT_TRUE(rule.judge({0, 1}).any_can);
  EXPECT_TRUE(rule.judge({1}).any_can);
  EXPECT_TRUE(rule.judge({1, 2}).any_can);
}

}  // namespace
}  // namespace muster
