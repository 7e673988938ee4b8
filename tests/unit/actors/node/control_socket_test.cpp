#include "actors/node/control_socket.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>

#include "base/socket_address.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
using Kind = HostAnswer::Kind;

HostAnswer control_host_at(std::initializer_list<const char*> addresses) {
  HostAnswer answer{Kind::known, {}, {}};
  for (const char* address : addresses) answer.addresses.push_back(*SocketAddress::from_text(address));
  return answer;
}

/// Answers the same for every name.
HostResolver always(const HostAnswer& answer) {
  return HostResolver([answer](const std::string&) { return answer; });
}

/// A port of 127.0.0.1 on which it listens.
class OpenPort {
 public:
  OpenPort() {
    SocketAddress own = *SocketAddress::from_text("127.0.0.1");
    EXPECT_EQ(::bind(socket_, own.get(), own.length), 0);
    EXPECT_EQ(::listen(socket_, 1), 0);
    EXPECT_EQ(::getsockname(socket_, own.get(), &own.length), 0);
    number_ = own.port();
  }
  ~OpenPort() { ::close(socket_); }
  OpenPort(const OpenPort&) = delete;
  OpenPort& operator=(const OpenPort&) = delete;

  std::uint16_t number() const { return number_; }

 private:
  const int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::uint16_t number_ = 0;
};

// The look-up returns when the test has ended.
TEST(ControlSocket, ANameThatNobodyAnswersForTakesNoLongerThanItMay) {
  std::promise<void> gate;
  HostResolver resolver([wait = gate.get_future().share()](const std::string&) {
    wait.wait();
    return HostAnswer{};
  });
  ConnectError why;
  EXPECT_EQ(connect_within("host2", 7100, 50ms, why, resolver), std::nullopt);
  EXPECT_EQ(why.name, Kind::no_answer);
  const FailedLook look = why_not_found("host2", 7100, 50ms, resolver);
  EXPECT_EQ(look.kind, NotFound::name_unanswered) << "it is tried again";
  EXPECT_EQ(look.detail, "no name server answered within 50 ms");
  EXPECT_EQ(own_address_towards("host2", 50ms, resolver), "");
  gate.set_value();
}

TEST(ControlSocket, SaysWhyACoordinatorIsNotFound) {
  HostResolver unknown = always({Kind::unknown, {}, "no such name"});
  const FailedLook look = why_not_found("host2", 7100, 10s, unknown);
  EXPECT_EQ(look.kind, NotFound::name_unknown);
  EXPECT_EQ(look.detail, "no such name");
  HostResolver here = always(control_host_at({"127.0.0.1"}));
  std::uint16_t closed = 0;
  {
    const OpenPort port;
    closed = port.number();
    EXPECT_EQ(why_not_found("host2", port.number(), 10s, here).kind, NotFound::no_coordinator);
  }
  EXPECT_EQ(why_not_found("host2", closed, 10s, here).kind, NotFound::refused);
}

TEST(ControlSocket, TriesEachAddressOfAName) {
  const OpenPort port;
  HostResolver both = always(control_host_at({"127.0.0.2", "127.0.0.1"}));
  ConnectError why;
  const auto socket = connect_within("host2", port.number(), 10s, why, both);
  ASSERT_TRUE(socket) << why.text();
  ::close(*socket);
}

TEST(ControlSocket, ListensOnTheFirstAddressThatIsOfThisMachine) {
  HostResolver second =
      always(control_host_at({"192.0.2.7", "127.0.0.1"}));  // the first is for documentation
  EXPECT_EQ(check_listening("host2", 0, second).address, "127.0.0.1");
  const OpenPort port;
  EXPECT_EQ(check_listening("host2", port.number(), second).why_not,
            "another process listens on port " + std::to_string(port.number()));
  HostResolver other = always(control_host_at({"192.0.2.7"}));
  EXPECT_EQ(check_listening("host2", 0, other).why_not, "no interface of this machine has the address host2");
}

TEST(ControlSocket, ANameThatCannotBeLookedUpIsNoPlaceToListenOn) {
  HostResolver silent = always({Kind::no_answer, {}, "try again"});
  const std::string why = check_listening("host2", 0, silent).why_not;
  EXPECT_EQ(why.find("the host name host2 cannot be looked up (try again): give the host's address"), 0u)
      << why;
}

TEST(ControlSocket, FindsItsOwnAddressOnTheWay) {
  HostResolver here = always(control_host_at({"127.0.0.3"}));
  EXPECT_EQ(own_address_towards("host2", 10s, here), "127.0.0.1");
}

}  // namespace
}  // namespace muster
