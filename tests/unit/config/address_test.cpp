#include "config/values/address.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Address, IsHostAndPort) {
  std::string host;
  std::uint16_t port = 0;
  EXPECT_TRUE(parse_address("host2:7100", host, port));
  EXPECT_EQ(host, "host2");
  EXPECT_EQ(port, 7100);
  EXPECT_TRUE(parse_address("[fe80::1%eth0]:1", host, port));
  EXPECT_EQ(host, "fe80::1%eth0");
  for (const char* wrong : {"", "host", ":7100", "host:", "host:0", "host:65536", "host:71x", "host:-1"})
    EXPECT_FALSE(parse_address(wrong, host, port)) << wrong;
}

TEST(Address, IsWrittenAsItIsRead) {
  for (const char* text : {"127.0.0.1:7100", "[::1]:65535", "host.example:1"}) {
    std::string host;
    std::uint16_t port = 0;
    ASSERT_TRUE(parse_address(text, host, port));
    EXPECT_EQ(address_text(host, port), text);
  }
}

TEST(Address, StandsInAUrl) {
  EXPECT_EQ(address_in_url("http://host2:7100"), "host2:7100");
  EXPECT_EQ(address_in_url("tcp://[fe80::1]:7100/run?x=1"), "[fe80::1]:7100");
  EXPECT_EQ(address_in_url("host2:7100"), std::nullopt);
}

TEST(Address, OfLoopbackReachesNoFurther) {
  for (const char* host : {"localhost", "127.0.0.1", "127.3.2.1", "::1"})
    EXPECT_TRUE(is_loopback(host)) << host;
  for (const char* host : {"0.0.0.0", "10.0.0.1", "::", "host"}) EXPECT_FALSE(is_loopback(host)) << host;
}

TEST(Address, OfAllAddressesIsNoneToReach) {
  for (const char* host : {"0.0.0.0", "::"}) EXPECT_TRUE(is_any_address(host)) << host;
  for (const char* host : {"127.0.0.1", "10.0.0.1", "::1", "host"})
    EXPECT_FALSE(is_any_address(host)) << host;
}

}  // namespace
}  // namespace muster
