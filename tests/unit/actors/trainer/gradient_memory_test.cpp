#include "actors/trainer/gradient_memory.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(GradientMemory, OnAHostResultsComeToTheHost) {
  GradientMemory memory(make_host_device(), 5, 3);
  EXPECT_EQ(memory.host().size(), 5u) << "what is reduced, not what the state has";
  EXPECT_EQ(memory.result(false), memory.host().data());
  EXPECT_EQ(memory.gpu().size(), 0u);
  EXPECT_FALSE(memory.is_pinned());
  EXPECT_EQ(memory.why_not_pinned(), "");
}

TEST(GradientMemory, WhatIsReplacedStaysWhereItWasForLateWriters) {
  GradientMemory memory(make_host_device(), 5, 5);
  float* const before = memory.result(false);
  memory.replace(false);
  EXPECT_NE(memory.result(false), before);
  EXPECT_EQ(memory.host().size(), 5u);
  before[4] = 1;  // as a transfer that was abandoned would: AddressSanitizer looks
  EXPECT_EQ(memory.host()[4], 0.0f);
}

TEST(GradientMemory, TheViewSaysWhereItsSumsCome) {
  GradientMemory memory(make_host_device(), 5, 5);
  EXPECT_FALSE(memory.sums_on_gpus());
  memory.enter_view(true);
  EXPECT_TRUE(memory.sums_on_gpus());
  memory.enter_view(false);
  EXPECT_FALSE(memory.sums_on_gpus());
}

}  // namespace
}  // namespace muster
