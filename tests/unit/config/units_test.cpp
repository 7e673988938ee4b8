#include "base/units.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

namespace muster {
namespace {

using std::chrono::milliseconds;

TEST(Units, DurationsAreRead) {
  EXPECT_EQ(parse_duration("500ms").value, milliseconds(500));
  EXPECT_EQ(parse_duration("2s").value, milliseconds(2000));
  EXPECT_EQ(parse_duration("10min").value, milliseconds(600000));
  EXPECT_EQ(parse_duration("1h").value, milliseconds(3600000));
  EXPECT_EQ(parse_duration("0s").value, milliseconds(0));
  EXPECT_EQ(parse_duration("2 s").value, milliseconds(2000));
}

TEST(Units, SizesAreRead) {
  EXPECT_EQ(parse_size("100B").value, 100u);
  EXPECT_EQ(parse_size("512KiB").value, 524288u);
  EXPECT_EQ(parse_size("64MiB").value, 67108864u);
  EXPECT_EQ(parse_size("1GB").value, 1000000000u);
  EXPECT_EQ(parse_size("1kB").value, 1000u);
  EXPECT_EQ(parse_size("1MB").value, 1000000u);
  EXPECT_EQ(parse_size("2TiB").value, 2ull << 40);
}

TEST(Units, RefusalsSayWhy) {
  EXPECT_EQ(parse_duration("500").why, "has no unit");
  EXPECT_EQ(parse_duration("").why, "does not start with a whole number");
  EXPECT_EQ(parse_duration("-1s").why, "does not start with a whole number");
  EXPECT_EQ(parse_duration("1.5s").why, "unknown unit \".5s\"");
  EXPECT_EQ(parse_duration("99999999999999999999ms").why, "too large");
  EXPECT_EQ(parse_duration("9223372036854775807h").why, "too large");
  EXPECT_EQ(parse_size("9000000000000000000B").value, 9000000000000000000u);
  EXPECT_EQ(parse_size("9000000TiB").why, "too large");
  EXPECT_EQ(parse_size("64Mib").why, "unknown unit \"Mib\"");
  EXPECT_EQ(parse_size("64Mib").nearest, "64MiB");
  EXPECT_EQ(parse_duration("5sec").nearest, "");
  EXPECT_EQ(parse_duration("5S").nearest, "5s");
}

TEST(Units, DurationsForPeopleAreNeverZeroForLessThanASecond) {
  const std::pair<milliseconds, const char*> texts[] = {{milliseconds(0), "0 ms"},
                                                        {milliseconds(1), "1 ms"},
                                                        {milliseconds(400), "400 ms"},
                                                        {milliseconds(999), "999 ms"},
                                                        {milliseconds(1000), "1 s"},
                                                        {milliseconds(1500), "1.5 s"},
                                                        {milliseconds(9990), "10 s"},
                                                        {milliseconds(20000), "20 s"},
                                                        {milliseconds(22640), "22.6 s"},
                                                        {milliseconds(60000), "60 s"},
                                                        {milliseconds(119940), "119.9 s"},
                                                        {milliseconds(119960), "2 min"},
                                                        {milliseconds(150400), "2 min 30 s"},
                                                        {milliseconds(600000), "10 min"},
                                                        {milliseconds(3599600), "1 h"},
                                                        {milliseconds(4800000), "1 h 20 min"},
                                                        {milliseconds(-1500), "-1.5 s"}};
  for (const auto& [duration, text] : texts) EXPECT_EQ(human_duration(duration), text);
  EXPECT_EQ(human_duration(std::chrono::duration<double>(0.0636)), "64 ms");
  EXPECT_EQ(human_duration(std::chrono::nanoseconds(1)), "0 ms");
  EXPECT_EQ(human_duration(milliseconds::max()), "277777777 h 47 min");
  EXPECT_EQ(human_duration(milliseconds(std::numeric_limits<std::int64_t>::min())), "-277777777 h 47 min");
  EXPECT_EQ(human_duration(std::chrono::duration<double>(std::nan(""))), "0 ms");
}

TEST(Units, FormattedValuesReadBack) {
  EXPECT_EQ(format_duration(milliseconds(120000)), "2min");
  EXPECT_EQ(format_duration(milliseconds(1500)), "1500ms");
  EXPECT_EQ(format_duration(milliseconds(0)), "0ms");
  EXPECT_EQ(format_duration(milliseconds(-5)), "-5ms");
  EXPECT_EQ(format_size(1 << 20), "1MiB");
  EXPECT_EQ(format_size(3000), "3kB");
  EXPECT_EQ(format_size(1001), "1001B");
  for (const std::uint64_t amount : {0ull, 1ull, 999ull, 1024ull, 1000000ull, 5ull << 30, (1ull << 63) - 1}) {
    EXPECT_EQ(parse_size(format_size(amount)).value, amount);
    const milliseconds duration(static_cast<std::int64_t>(amount));
    EXPECT_EQ(parse_duration(format_duration(duration)).value, duration);
  }
}

}  // namespace
}  // namespace muster
