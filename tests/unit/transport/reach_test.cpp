// Which ports answer, and between which nodes TCP carries.
#include "transport/node/reach.hpp"

#include <gtest/gtest.h>

#include "transport/node/node_transport.hpp"
#include "transport/tcp/reach.hpp"
#include "transport/tcp/sockets.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST(Reach, APortThatListensAnswersAndOneThatDoesNotIsNamed) {
  tcp::Address open, shut;
  const auto listener = tcp::listen_at("127.0.0.1", 0, 0, open);
  { const auto gone = tcp::listen_at("127.0.0.1", 0, 0, shut); }
  const auto closed = tcp::closed_ports({open, shut, open}, 3s);
  ASSERT_EQ(closed.size(), 1u);
  EXPECT_EQ(closed[0].which, 1u);
  EXPECT_EQ(closed[0].where, "127.0.0.1:" + std::to_string(shut.port));
  EXPECT_EQ(closed[0].why, "Connection refused");
  EXPECT_TRUE(tcp::closed_ports({}, 3s).empty());
}

TEST(Reach, NothingIsDialedWithinAHost) {
  const auto one = make_node_transport({}), other = make_node_transport({});
  EXPECT_FALSE(tcp_address_between(one->address(), other->address()));
}

}  // namespace
}  // namespace muster
