#include "muster/intervals.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Interval, IsReadAndWritten) {
  using Unit = Interval::Unit;
  EXPECT_EQ(parse_interval("1 epoch"), (Interval{1, Unit::epochs}));
  EXPECT_EQ(parse_interval("2 epochs"), (Interval{2, Unit::epochs}));
  EXPECT_EQ(parse_interval("500 steps"), (Interval{500, Unit::steps}));
  EXPECT_EQ(parse_interval("1 steps"), (Interval{1, Unit::steps}));
  EXPECT_EQ(format_interval({1, Unit::epochs}), "1 epoch");
  EXPECT_EQ(format_interval({2, Unit::steps}), "2 steps");
  EXPECT_EQ(parse_interval(format_interval({77, Unit::steps})), (Interval{77, Unit::steps}));
}

TEST(Interval, WhatIsNoneIsRefused) {
  for (const char* text :
       {"", "0 steps", "-1 steps", "steps", "5", "5steps", "5  steps", "5 Steps", "1.5 epochs", "5 steps ",
        "99999999999999999999 steps", "9223372036854775808 steps"}) {
    EXPECT_FALSE(parse_interval(text)) << text;
  }
  EXPECT_TRUE(parse_interval("9223372036854775807 steps"));
}

}  // namespace
}  // namespace muster
