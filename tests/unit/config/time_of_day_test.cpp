#include "base/time_of_day.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string at(std::int64_t milliseconds) {
  return time_of_day(std::chrono::system_clock::time_point(std::chrono::milliseconds(milliseconds)));
}

TEST(TimeOfDay, IsRfc3339InUtcWithMilliseconds) {
  EXPECT_EQ(at(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(at(1'795'905'195'042), "2026-11-28T22:33:15.042Z");
  EXPECT_EQ(at(951'782'400'000), "2000-02-29T00:00:00.000Z");
  EXPECT_EQ(at(-1), "1969-12-31T23:59:59.999Z");
}

}  // namespace
}  // namespace muster
