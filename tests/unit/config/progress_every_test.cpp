#include "muster/intervals.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(ProgressEvery, IsReadAndWrittenAlike) {
  for (const char* text : {"off", "1 step", "10 steps", "200ms", "5s", "10min"}) {
    const auto every = parse_progress_every(text);
    ASSERT_TRUE(every) << text;
    EXPECT_EQ(format_progress_every(*every), text);
  }
  EXPECT_EQ(format_progress_every({}), "5s");
}

TEST(ProgressEvery, RefusesWhatItCannotDo) {
  for (const char* text : {"", "0 steps", "1 epoch", "199ms", "5", "-1s", "often"})
    EXPECT_FALSE(parse_progress_every(text)) << text;
}

}  // namespace
}  // namespace muster
