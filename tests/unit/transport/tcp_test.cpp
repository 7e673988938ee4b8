// What is particular to the transport over TCP: the stream, and what strangers and the dead can do to it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>

#include "muster/error.hpp"
#include "tests/unit/transport/transport_world.hpp"
#include "transport/node/node_transport.hpp"
#include "transport/tcp/sockets.hpp"
#include "transport/tcp/tcp_transport.hpp"

namespace {

using namespace muster;
using namespace std::chrono_literals;
using muster::testing::frame_of;
using muster::testing::pattern;
using muster::testing::RecordingSink;
using muster::testing::ScopedVariable;
using muster::testing::WorldNode;
using tcp::Descriptor;

constexpr PeerId kA = 10;
constexpr PeerId kB = 20;

template <class Done>
bool progress_until(Transport& transport, Done done) {
  const auto give_up = std::chrono::steady_clock::now() + 20s;
  while (!done()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    transport.progress();
  }
  return true;
}

WorldNode& with(WorldNode& node, const TcpOptions& options = {}) {
  node.transport = make_tcp_transport(options);
  node.transport->set_sink(&node.sink);
  return node;
}

std::vector<std::byte> bytes_of(const void* begin, std::size_t count) {
  const auto* bytes = static_cast<const std::byte*>(begin);
  return {bytes, bytes + count};
}

/// Somebody who says over a socket what he likes.
class Stranger {
 public:
  explicit Stranger(const Transport& transport)
      : address_(tcp::open_address(transport.address())), socket_(tcp::dial(address_, true)) {
    pollfd connected{socket_.get(), POLLOUT, 0};
    EXPECT_EQ(::poll(&connected, 1, 20'000), 1);
  }

  std::vector<std::byte> hello() const {
    tcp::Hello hello;
    std::fill(std::begin(hello.from), std::end(hello.from), 's');
    std::memcpy(hello.to, address_.name.data(), sizeof hello.to);
    return bytes_of(&hello, sizeof hello);
  }
  bool say(std::span<const std::byte> bytes) {
    return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  /// The other side has let go of it.
  bool turned_away() {
    char byte = 0;
    const auto got = ::recv(socket_.get(), &byte, 1, MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno == ECONNRESET);
  }
  void leave() { socket_ = Descriptor(); }

 private:
  tcp::Address address_;
  Descriptor socket_;
};

void append(std::vector<std::byte>& stream, const std::vector<std::byte>& bytes) {
  stream.insert(stream.end(), bytes.begin(), bytes.end());
}

TEST(Tcp, AddressesAreSealed) {
  const tcp::Address address{std::string(tcp::kNameBytes, 'n'), "10.0.0.7", 4711};
  const std::string sealed = tcp::seal_address(address);
  EXPECT_EQ(tcp::open_address(sealed), address);
  for (std::size_t place = 0; place < sealed.size(); ++place) {
    std::string damaged = sealed;
    damaged[place] = static_cast<char>(damaged[place] ^ 4);
    EXPECT_THROW(tcp::open_address(damaged), Error) << place;
    EXPECT_THROW(tcp::open_address(sealed.substr(0, place)), Error) << place;
  }
}

TEST(Tcp, ListensWhereItIsTold) {
  EXPECT_EQ(tcp::open_address(make_tcp_transport()->address()).ip, "127.0.0.1");
  EXPECT_EQ(tcp::open_address(make_tcp_transport({.listen = "127.0.0.2"})->address()).ip, "127.0.0.2");
  for (const char* wildcard : {"", "0.0.0.0"}) {
    const auto ip = tcp::open_address(make_tcp_transport({.listen = wildcard})->address()).ip;
    EXPECT_NE(ip, "0.0.0.0");
    EXPECT_FALSE(ip.empty());
  }
  EXPECT_THROW(make_tcp_transport({.listen = "192.0.2.7"}), Error);  // reserved for documentation
  EXPECT_THROW(make_tcp_transport({.listen = "no address"}), Error);
}

TEST(Tcp, AStreamMayComeInAnyPieces) {
  std::mt19937 random(5);
  WorldNode node;
  with(node);
  Stranger stranger(*node.transport);
  std::vector<std::byte> stream = stranger.hello();
  constexpr std::uint64_t kMessages = 300;
  for (std::uint64_t message = 0; message < kMessages; ++message) {
    const std::size_t sizes[] = {0, random() % 100, random() % 20000, 8192 - 64, 100000};
    const Frame frame = checked(frame_of(kA, message, sizes[random() % std::size(sizes)]));
    append(stream, bytes_of(&frame, sizeof frame));
    append(stream, pattern(message, frame.bytes));
  }
  for (std::size_t said = 0; said < stream.size();) {
    const std::size_t most = random() % 3 == 0 ? 3 : random() % 30000 + 1;
    const std::size_t piece = std::min<std::size_t>(most, stream.size() - said);
    ASSERT_TRUE(stranger.say(std::span(stream).subspan(said, piece)));
    said += piece;
    for (int turns = 0; turns < 3; ++turns) node.transport->progress();
  }
  EXPECT_TRUE(progress_until(*node.transport, [&] { return node.sink.whole.size() == kMessages; }));
  EXPECT_TRUE(node.sink.refusals.empty());
  EXPECT_EQ(node.sink.half_arrived(), 0u);
}

TEST(Tcp, WhoDoesNotKnowTheNameIsTurnedAway) {
  WorldNode node;
  with(node);
  std::vector<std::byte> to_another = Stranger(*node.transport).hello();
  to_another.back() ^= std::byte{1};
  const auto frame = checked(frame_of(kA, 1, 0));
  for (auto first : {pattern(1, 500), to_another}) {
    Stranger stranger(*node.transport);
    append(first, bytes_of(&frame, sizeof frame));
    ASSERT_TRUE(stranger.say(first));
    EXPECT_TRUE(progress_until(*node.transport, [&] { return stranger.turned_away(); }));
  }
  EXPECT_EQ(node.sink.refusals.size(), 2u);
  EXPECT_TRUE(node.sink.whole.empty());
}

TEST(Tcp, WhoSaysNothingIsTurnedAwayInTime) {
  WorldNode node;
  with(node, {.greeting_max = 50ms, .strangers_max = 2});
  Stranger first(*node.transport), second(*node.transport), third(*node.transport);
  EXPECT_TRUE(progress_until(*node.transport, [&] { return third.turned_away(); }));
  EXPECT_TRUE(progress_until(*node.transport, [&] { return first.turned_away() && second.turned_away(); }));
  EXPECT_EQ(node.sink.refusals.size(), 3u);
  Stranger fourth(*node.transport);
  auto stream = fourth.hello();
  const auto frame = checked(frame_of(kA, 1, 0));
  append(stream, bytes_of(&frame, sizeof frame));
  ASSERT_TRUE(fourth.say(stream));
  EXPECT_TRUE(progress_until(*node.transport, [&] { return node.sink.whole.size() == 1; }));
}

// Its hello lay in the socket all the time.
TEST(Tcp, WhoCameWhileThisProcessStoodStillIsNotTurnedAway) {
  WorldNode node;
  with(node, {.greeting_max = 50ms});
  Stranger stranger(*node.transport);
  node.transport->progress();
  auto stream = stranger.hello();
  const auto frame = checked(frame_of(kA, 1, 0));
  append(stream, bytes_of(&frame, sizeof frame));
  ASSERT_TRUE(stranger.say(stream));
  // Until another node, which does not stand still, would have turned it away.
  WorldNode clock;
  with(clock, {.greeting_max = 200ms});
  Stranger silent(*clock.transport);
  ASSERT_TRUE(progress_until(*clock.transport, [&] { return silent.turned_away(); }));
  EXPECT_TRUE(progress_until(*node.transport, [&] { return node.sink.whole.size() == 1; }));
  EXPECT_TRUE(node.sink.refusals.empty());
}

TEST(Tcp, WhatIsNoFrameEndsItsConnectionAndNoOther) {
  WorldNode a, b;
  muster::testing::connect(with(a), kA, with(b), kB);
  Stranger stranger(*a.transport);
  auto stream = stranger.hello();
  const auto frame = checked(frame_of(kB, 1, 5000));
  append(stream, bytes_of(&frame, sizeof frame));
  append(stream, pattern(1, frame.bytes));
  append(stream, pattern(2, 1000));
  ASSERT_TRUE(stranger.say(stream));
  EXPECT_TRUE(progress_until(*a.transport, [&] { return stranger.turned_away(); }));
  EXPECT_EQ(a.sink.whole.size(), 1u);
  EXPECT_EQ(a.sink.refusals.size(), 1u);
  b.send(kA, kB, 2, 1 << 20);
  EXPECT_TRUE(progress_until(*a.transport, [&] {
    b.transport->progress();
    return a.sink.whole.size() == 2;
  }));
  EXPECT_TRUE(a.sink.failures.empty() && b.sink.failures.empty());
}

TEST(Tcp, APlaceWhoseSenderLeavesIsDroppedOnce) {
  WorldNode node;
  with(node);
  Stranger stranger(*node.transport);
  auto stream = stranger.hello();
  const auto frame = checked(frame_of(kA, 1, 100'000));
  append(stream, bytes_of(&frame, sizeof frame));
  append(stream, pattern(1, 50'000));
  ASSERT_TRUE(stranger.say(stream));
  EXPECT_TRUE(progress_until(*node.transport, [&] { return node.sink.half_arrived() == 1; }));
  stranger.leave();
  EXPECT_TRUE(progress_until(*node.transport, [&] { return node.sink.drops == 1; }));
  EXPECT_EQ(node.sink.half_arrived(), 0u);
}

TEST(Tcp, WhoDoesNotListenHasFailed) {
  WorldNode node;
  with(node);
  node.transport->connect(kB, make_tcp_transport()->address());  // it is gone
  node.send(kB, kA, 1, 100);
  EXPECT_TRUE(progress_until(*node.transport, [&] { return node.sink.tokens_back() == 1; }));
  EXPECT_EQ(node.sink.sent_failed, 1u);
  EXPECT_EQ(node.sink.failures, std::vector<PeerId>{kB});
  node.send(kB, kA, 2, 100);
  EXPECT_EQ(node.sink.sent_failed, 2u);
}

TEST(Tcp, WhoDoesNotAnswerHasFailedInTime) {
  tcp::Address address{std::string(tcp::kNameBytes, 'n'), {}, 0};
  const Descriptor deaf = tcp::listen_at("127.0.0.1", 0, 0, address);
  ASSERT_EQ(::listen(deaf.get(), 0),
            0);  // one may wait to be accepted; the kernel leaves others without an answer
  const Descriptor first = tcp::dial(address, true), second = tcp::dial(address, true);
  WorldNode node;
  with(node, {.greeting_max = 50ms});
  node.transport->connect(kB, tcp::seal_address(address));
  EXPECT_TRUE(progress_until(*node.transport, [&] { return node.sink.failures.size() == 1; }));
}

TEST(Tcp, ListensOnANameOfThisHostAndSaysWhatToDoAboutAnother) {
  tcp::Address reached;
  tcp::listen_at("localhost", 0, 0, reached);
  EXPECT_TRUE(reached.ip == "127.0.0.1" || reached.ip == "::1") << reached.ip;
  try {
    tcp::listen_at("not a host", 0, 0, reached);
    ADD_FAILURE() << "it has an address";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("the host name not a host is not known here"), std::string::npos)
        << error.what();
  }
}

// Two ports, one behind the other, that nobody listens on.
std::uint16_t two_free_ports() {
  for (int turn = 0; turn < 100; ++turn) {
    tcp::Address any, next;
    const Descriptor one = tcp::listen_at("127.0.0.1", 0, 0, any);
    const auto behind = static_cast<std::uint16_t>(any.port + 1);
    try {
      const Descriptor other = tcp::listen_at("127.0.0.1", behind, behind, next);
      return any.port;
    } catch (const Error&) {  // taken
    }
  }
  return 0;
}

TEST(Tcp, ListensOnTheFirstPortOfItsRangeThatIsFree) {
  const std::uint16_t port = two_free_ports();
  const auto last = static_cast<std::uint16_t>(port + 1);
  tcp::Address first, second, third;
  const Descriptor one = tcp::listen_at("127.0.0.1", port, last, first);
  EXPECT_EQ(first.port, port);
  const Descriptor other = tcp::listen_at("127.0.0.1", port, last, second);
  EXPECT_EQ(second.port, last);
  try {
    tcp::listen_at("127.0.0.1", port, last, third);
    ADD_FAILURE() << "a third one found a port";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("(cluster.data_ports) of this node is taken"), std::string::npos)
        << error.what();
  }
}

// What is sent one after the other within a turn goes out together, and nothing is left behind when the
// thread rests.
TEST(Tcp, RestsOnlyWhenAllIsSaid) {
  WorldNode a, b;
  muster::testing::connect(with(a), kA, with(b), kB);
  EXPECT_TRUE(progress_until(*a.transport, [&] {
    b.transport->progress();
    return a.transport->arm() && b.transport->arm() && !a.transport->progress() && !b.transport->progress();
  }));
  a.send(kB, kA, 1, 100);
  EXPECT_FALSE(a.transport->arm());
  a.transport->progress();
  EXPECT_TRUE(a.transport->arm());
  pollfd woken{b.transport->event_descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&woken, 1, 20'000), 1);
  EXPECT_TRUE(progress_until(*b.transport, [&] { return b.sink.whole.size() == 1; }));
}

// A link may need longer for what is queued than a member may be silent.
TEST(Tcp, SignsOfLifeDoNotWaitBehindWhatTakesLong) {
  constexpr std::size_t kBytes = std::size_t{16} << 20;  // more than sockets hold
  WorldNode a, b;
  muster::testing::connect(with(a), kA, with(b), kB);
  for (std::uint64_t message = 1; message <= 4; ++message) a.send(kB, kA, message, kBytes);
  for (int i = 0; i < 10; ++i) a.transport->progress();  // the first one is begun
  Frame ping = frame_of(kA, 5, 0);
  ping.kind = FrameKind::ping;
  a.transport->send(kB, ping, {}, 5);
  const RecordingSink::Key life{kA, 5};
  EXPECT_TRUE(progress_until(*a.transport, [&] {
    b.transport->progress();
    return b.sink.whole.contains(life);
  }));
  EXPECT_EQ(b.sink.whole.size(), 2u) << "behind the first payload";
  EXPECT_TRUE(progress_until(*a.transport, [&] {
    b.transport->progress();
    return b.sink.whole.size() == 5 && a.sink.sent_ok == 5;
  }));
  EXPECT_EQ(a.sink.tokens, (std::multiset<SendToken>{1, 2, 3, 4, 5}));
}

std::string carried_by(const char* tls, const char* devices = "") {
  const ScopedVariable set_tls("UCX_TLS", tls), set_devices("UCX_NET_DEVICES", devices);
  const std::string text = make_node_transport({})->describe();
  return text.substr(0, text.find(' '));
}

// The kernel's own view of a socket that was dialed with a bound on silence.
TEST(Tcp, TheKernelEndsAConnectionAfterTheStatedSilence) {
  WorldNode node;
  with(node);
  const Descriptor socket = tcp::dial(tcp::open_address(node.transport->address()), true);
  const auto option = [&](int level, int name) {
    int value = -1;
    socklen_t length = sizeof value;
    EXPECT_EQ(::getsockopt(socket.get(), level, name, &value, &length), 0);
    return value;
  };
  tcp::end_after_silence(socket, 0ms);
  EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 0) << "not asked for";
  tcp::end_after_silence(socket, 20'000ms);
  EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 20'000);
  const int idle = option(IPPROTO_TCP, TCP_KEEPIDLE), every = option(IPPROTO_TCP, TCP_KEEPINTVL);
  EXPECT_EQ(idle + every * option(IPPROTO_TCP, TCP_KEEPCNT), 20);
  tcp::end_after_silence(socket, 500ms);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE), 1) << "the kernel counts in seconds";
}

// Of this process: the sockets that the kernel ends after this silence.
int sockets_that_end_after(int silence_ms) {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
    int value = 0;
    socklen_t length = sizeof value;
    const int descriptor = std::stoi(file.path().filename());
    const int rc = ::getsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &value, &length);
    count += rc == 0 && value == silence_ms;
  }
  return count;
}

TEST(Tcp, BothEndsOfAConnectionHaveTheStatedSilence) {
  WorldNode a, b;
  const TcpOptions options{.silence_max = 12'345ms};
  muster::testing::connect(with(a, options), kA, with(b, options), kB);
  a.send(kB, kA, 1, 1);
  EXPECT_TRUE(progress_until(*a.transport, [&] {
    b.transport->progress();
    return b.sink.whole.size() == 1;
  }));
  EXPECT_EQ(sockets_that_end_after(12'345), 4) << "each has dialed one, and accepted one";
}

TEST(NodeTransport, WhatTheUserNamesCarriesEverything) {
  EXPECT_EQ(carried_by("tcp"), "tcp");
  EXPECT_EQ(carried_by("self,tcp"), "tcp");
  EXPECT_EQ(carried_by("tcp,self", "lo"), "ucx");
  EXPECT_EQ(carried_by("tcp,sm"), "ucx");
  EXPECT_EQ(carried_by("self"), "ucx");
}

TEST(NodeTransport, NodesWithAndWithoutAFabricReachEachOther) {
  for (const char* devices_of_b : {"", "lo"}) {  // with it UCX is used, as with a fabric
    WorldNode nodes[2];
    const char* devices[] = {"lo", devices_of_b};
    for (int i = 0; i < 2; ++i) {
      const ScopedVariable set("UCX_NET_DEVICES", devices[i]);
      nodes[i].transport = make_far_transport({});
      nodes[i].transport->set_sink(&nodes[i].sink);
    }
    muster::testing::connect(nodes[0], kA, nodes[1], kB);
    nodes[0].send(kB, kA, 1, 1 << 20);
    nodes[1].send(kA, kB, 2, 1 << 20);
    EXPECT_TRUE(progress_until(*nodes[0].transport, [&] {
      nodes[1].transport->progress();
      return nodes[0].sink.whole.size() == 1 && nodes[1].sink.whole.size() == 1;
    }));
    EXPECT_EQ(nodes[0].sink.sent_ok + nodes[1].sink.sent_ok, 2u);
  }
}

}  // namespace
