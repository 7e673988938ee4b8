// What another process says over TCP after its hello: any bytes, in two pieces. An input is the length of the
// first piece (16 bits), and the bytes.
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "tests/fuzz/checked_frames.hpp"
#include "tests/fuzz/placing_sink.hpp"
#include "transport/tcp/sockets.hpp"
#include "transport/tcp/tcp_transport.hpp"

namespace muster::fuzz {
namespace {

constexpr std::size_t kBytesMax = 1 << 15;  // less than a socket holds
constexpr int kTurnsMax = 1'000'000;

void say(const tcp::Descriptor& socket, Input bytes) {
  if (!bytes.empty()) ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

bool let_go(const tcp::Descriptor& socket) {
  char byte = 0;
  return ::recv(socket.get(), &byte, 1, MSG_DONTWAIT) >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

}  // namespace

bool accepts(Input input) {
  Choices choices(input);
  const auto first = choices.number<std::uint16_t>();
  const Bytes stream = with_checks(choices.rest());
  Choices said(stream);
  PlacingSink sink(8 * kBytesMax);
  const auto transport = make_tcp_transport();
  transport->set_sink(&sink);
  const tcp::Address address = tcp::open_address(transport->address());
  const tcp::Descriptor socket = tcp::dial(address, true);
  pollfd connected{socket.get(), POLLOUT, 0};
  MUSTER_CHECK(::poll(&connected, 1, 20'000) == 1);
  tcp::Hello hello;
  std::copy(address.name.begin(), address.name.end(), hello.to);
  std::fill(std::begin(hello.from), std::end(hello.from), 's');
  say(socket, std::as_bytes(std::span(&hello, 1)));
  say(socket, said.piece(first));
  transport->progress();
  transport->progress();
  say(socket, said.piece(kBytesMax));
  ::shutdown(socket.get(), SHUT_WR);
  for (int turns = 0; !let_go(socket); ++turns) {
    MUSTER_CHECK(turns < kTurnsMax);
    transport->progress();
    transport->arm();
  }
  MUSTER_CHECK(!sink.holds_a_place());
  return sink.accepted > 0;
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> all;
  for (const std::uint16_t bytes : {0, 100, 9000}) {
    Frame frame;
    frame.bytes = bytes;
    all.push_back(joined({raw(std::uint16_t{50}), raw(frame), Bytes(bytes, std::byte{90}), raw(frame)}));
  }
  return all;
}

}  // namespace muster::fuzz
