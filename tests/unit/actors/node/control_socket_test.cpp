#include "actors/node/control_socket.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <optional>
#include <vector>

#include "actors/rules/watch/return_time.hpp"
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

std::chrono::milliseconds user_timeout_of(int socket) {
  int value = -1;
  socklen_t length = sizeof value;
  ::getsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &value, &length);
  return std::chrono::milliseconds(value);
}

/// A connection to another host, for which 127.0.0.2 stands; what comes there is not read.
class SilentHost : public ::testing::Test {
 protected:
  SilentHost() {
    SocketAddress own = *SocketAddress::from_text("127.0.0.2");
    EXPECT_EQ(::bind(listener_, own.get(), own.length), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    EXPECT_EQ(::getsockname(listener_, own.get(), &own.length), 0);
    EXPECT_EQ(::connect(client_, own.get(), own.length), 0);
    server_ = ::accept(listener_, nullptr, nullptr);
    silence_.emplace(client_);
  }
  ~SilentHost() override {
    for (const int socket : {listener_, client_, server_}) ::close(socket);
  }
  /// Sends, or reads on the other side, until the bound is so; false: not within 20 s.
  bool sends_until(bool (*holds)(std::chrono::milliseconds)) {
    return until(holds,
                 [this] { ::send(client_, bytes_.data(), bytes_.size(), MSG_DONTWAIT | MSG_NOSIGNAL); });
  }
  bool reads_until(bool (*holds)(std::chrono::milliseconds)) {
    return until(holds, [this] {
      while (::recv(server_, bytes_.data(), bytes_.size(), MSG_DONTWAIT) > 0) continue;
    });
  }
  template <class Act>
  bool until(bool (*holds)(std::chrono::milliseconds), Act&& act) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (std::chrono::steady_clock::now() < end) {
      act();
      now_ += 1s;
      silence_->look(now_);
      if (holds(user_timeout_of(client_))) return true;
    }
    return false;
  }

  const int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int client_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int server_ = -1;
  std::vector<char> bytes_ = std::vector<char>(1 << 20);
  BoundedSilence::Time now_{};
  std::optional<BoundedSilence> silence_;
};

TEST_F(SilentHost, IsWaitedForWhileItAnswersAndHasNoRoom) {
  EXPECT_EQ(user_timeout_of(client_), kUnheardMax);
  ASSERT_TRUE(sends_until([](auto bound) { return bound > kUnheardMax; }));
  const auto before = user_timeout_of(client_);
  EXPECT_TRUE(sends_until([](auto bound) { return bound > 1min; })) << "it moves along with the time";
  EXPECT_GT(user_timeout_of(client_), before);
  EXPECT_TRUE(reads_until([](auto bound) { return bound == kUnheardMax; }));
}

TEST(ControlSocket, WithinAMachineSilenceHasNoBound) {
  const OpenPort port;
  ConnectError why;
  const auto socket = connect_within("127.0.0.1", port.number(), 10s, why);
  ASSERT_TRUE(socket) << why.text();
  BoundedSilence(*socket).look(BoundedSilence::Time(1h));
  EXPECT_EQ(user_timeout_of(*socket), 0ms);
  ::close(*socket);
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
  HostResolver two = always(control_host_at({"127.0.0.1", "127.0.0.2"}));
  EXPECT_EQ(check_listening("host2", port.number(), two).why_not,
            "another process listens on port " + std::to_string(port.number()))
      << "nodes would reach that one";
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
