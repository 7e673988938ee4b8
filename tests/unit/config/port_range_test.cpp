#include "config/values/port_range.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(PortRange, IsTheFirstAndTheLast) {
  EXPECT_EQ(parse_port_range("7100-7199"), (PortRange{7100, 7199}));
  EXPECT_EQ(parse_port_range("7100"), (PortRange{7100, 7100}));
  EXPECT_EQ(parse_port_range("1-65535"), (PortRange{1, 65535}));
  EXPECT_EQ(parse_port_range(""), PortRange{});
  EXPECT_TRUE(PortRange{}.any());
}

TEST(PortRange, IsNothingElse) {
  for (const char* wrong :
       {"-", "7100-", "-7100", "7199-7100", "0-9", "1-65536", "7100 - 7199", "a-b", "1-2-3"})
    EXPECT_FALSE(parse_port_range(wrong)) << wrong;
}

}  // namespace
}  // namespace muster
