#include "base/bounded/late_answers.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr LateAnswers::Time kAsked{100s}, kCame{101s};

LateAnswer read_of(int value, LateAnswers::Time asked = kAsked, LateAnswers::Time came = kCame) {
  return {false, asked, came, value};
}
int value_of(const std::optional<LateAnswer>& answer) {
  return answer ? std::any_cast<int>(answer->value) : 0;
}

TEST(LateAnswers, AreForWhoeverAsksTheSame) {
  LateAnswers late;
  late.keep("one", read_of(1));
  EXPECT_EQ(value_of(late.to("one", kCame)), 1);
  EXPECT_FALSE(late.to("another", kCame));
  EXPECT_EQ(value_of(late.to("one", kCame)), 1) << "a procedure begins with it each time";
}

TEST(LateAnswers, ARefusalIsHeardOnce) {
  LateAnswers late;
  LateAnswer refusal{true, kAsked, kCame};
  refusal.refusal = std::make_exception_ptr(std::runtime_error("full"));
  late.keep("change", refusal);
  EXPECT_TRUE(late.to("change", kCame)->refusal);
  EXPECT_FALSE(late.to("change", kCame));
}

TEST(LateAnswers, AreKeptForAWhile) {
  LateAnswers late;
  late.keep("one", read_of(1));
  EXPECT_TRUE(late.to("one", kCame + LateAnswers::kKept));
  EXPECT_FALSE(late.to("one", kCame + LateAnswers::kKept + 1ms));
}

TEST(LateAnswers, WhatWasReadIsNotOlderThanAMinute) {
  LateAnswers late;
  const auto hung_until = kAsked + LateAnswers::kReadAgeMax;
  late.keep("read", read_of(1, kAsked, hung_until));
  EXPECT_TRUE(late.to("read", hung_until));
  EXPECT_FALSE(late.to("read", hung_until + 1ms));
  late.keep("change", {true, kAsked, kAsked + 1h, 2});
  EXPECT_TRUE(late.to("change", kAsked + 1h)) << "it was made, whenever it was asked for";
}

TEST(LateAnswers, AChangeMakesThemVoid) {
  LateAnswers late;
  late.keep("one", read_of(1));
  late.forget();
  EXPECT_FALSE(late.to("one", kCame));
}

TEST(LateAnswers, TheOldestMakeRoom) {
  LateAnswers late;
  for (std::size_t i = 0; i <= LateAnswers::kMax; ++i)
    late.keep("question " + std::to_string(i), read_of(static_cast<int>(i) + 1, kAsked, kCame + i * 1ms));
  EXPECT_FALSE(late.to("question 0", kCame));
  for (std::size_t i = 1; i <= LateAnswers::kMax; ++i)
    EXPECT_TRUE(late.to("question " + std::to_string(i), kCame)) << i;
}

}  // namespace
}  // namespace muster
