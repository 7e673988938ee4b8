#include "base/socket_address.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(SocketAddress, ReadsNumbersAndNoNames) {
  for (const std::string text : {"10.0.0.7", "::1", "2001:db8::7"}) {
    const auto address = SocketAddress::from_text(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->text(), text);
    EXPECT_EQ(address->port(), 0);
    EXPECT_EQ(address->with_port(7100).port(), 7100);
    EXPECT_EQ(address->with_port(7100).text(), text);
  }
  for (const char* name : {"localhost", "", "host.example", "10.0.0.7:7100"})
    EXPECT_FALSE(SocketAddress::from_text(name)) << name;
}

TEST(SocketAddress, TellsWhichOnesStandForAll) {
  for (const char* all : {"0.0.0.0", "::"}) EXPECT_TRUE(SocketAddress::from_text(all)->is_wildcard()) << all;
  for (const char* one : {"127.0.0.1", "::1"})
    EXPECT_FALSE(SocketAddress::from_text(one)->is_wildcard()) << one;
}

TEST(SocketAddress, OfAnotherFamilyHasNoText) {
  SocketAddress other;
  other.storage.ss_family = AF_UNIX;
  EXPECT_EQ(other.text(), "");
  EXPECT_EQ(other.with_port(7).port(), 0);
  EXPECT_FALSE(other.is_wildcard());
}

}  // namespace
}  // namespace muster
