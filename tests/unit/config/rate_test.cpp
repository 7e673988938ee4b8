// How often something is done on the steps of a run, as a text.
#include "muster/intervals.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Rate, ReadsBackAsTheSameValue) {
  for (const char* text : {"off", "1 in 1 steps", "1 in 256 steps"}) {
    const auto rate = parse_rate(text);
    ASSERT_TRUE(rate) << text;
    EXPECT_EQ(format_rate(*rate), text);
  }
  EXPECT_EQ(parse_rate("1 in 1 step"), Rate{1});
  EXPECT_EQ(parse_rate("off"), Rate{});
}

TEST(Rate, RefusesWhatIsNone) {
  for (const char* text : {"", "on", "256", "1 in 0 steps", "2 in 4 steps", "1 in -1 steps", "1 in 4",
                           "1 in 4 epochs", "1 in 99999999999999999999 steps", "1 in 4 steps "})
    EXPECT_FALSE(parse_rate(text)) << text;
}

}  // namespace
}  // namespace muster
