#include "actors/node/control_socket.hpp"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "actors/rules/watch/return_time.hpp"

namespace muster {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kSliceMin{300};
constexpr std::chrono::milliseconds kLookAgain{500};                          // at a connection
constexpr std::chrono::milliseconds kAhead = 2 * kUnheardMax;                 // a thread may be late
constexpr std::chrono::milliseconds kBoundMax = std::chrono::hours(24 * 20);  // fits an int

// 0, or an errno.
int finish_connecting(int socket, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return ETIMEDOUT;
    pollfd wait{socket, POLLOUT, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return errno;
    if (ready <= 0) continue;
    int error = 0;
    socklen_t length = sizeof error;
    return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
  }
}

void set(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof value);  // where it is refused TCP's own times hold
}

// There is more to send, and all that was sent is acknowledged.
bool has_no_room(int socket) {
  int queued = 0, unsent = 0;
  return ::ioctl(socket, SIOCOUTQ, &queued) == 0 && ::ioctl(socket, SIOCOUTQNSD, &unsent) == 0 &&
         unsent > 0 && queued == unsent;
}

bool answers_probes(int socket) {
  tcp_info info{};
  socklen_t length = sizeof info;
  return ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
         info.tcpi_probes <= 1;  // one may be under way
}

// As text, without the port; empty if it is not known.
std::string host_of(int socket, int (*ask)(int, sockaddr*, socklen_t*)) {
  SocketAddress address;
  return ask(socket, address.get(), &address.length) == 0 ? address.text() : std::string();
}

// 0, or an errno.
int try_listening(const SocketAddress& address) {
  const int socket = ::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return errno;
  set(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  const bool listens = ::bind(socket, address.get(), address.length) == 0 && ::listen(socket, 1) == 0;
  const int error = listens ? 0 : errno;
  ::close(socket);
  return error;
}

}  // namespace

std::string ConnectError::text() const {
  return name == HostAnswer::Kind::known ? std::strerror(error) : of_name;
}

FailedLook why_not_found(const std::string& host, std::uint16_t port, std::chrono::milliseconds most,
                         HostResolver& resolver) {
  ConnectError why;
  if (const auto socket = connect_within(host, port, most, why, resolver)) {
    ::close(*socket);
    return {NotFound::no_coordinator, {}};
  }
  if (why.name == HostAnswer::Kind::unknown) return {NotFound::name_unknown, why.text()};
  if (why.name == HostAnswer::Kind::no_answer) return {NotFound::name_unanswered, why.text()};
  return {why.error == ECONNREFUSED ? NotFound::refused : NotFound::no_answer, why.text()};
}

ListenCheck check_listening(const std::string& host, std::uint16_t port, HostResolver& resolver) {
  const HostAnswer answer = resolver.look_up(host, kOwnNameMax);
  if (answer.kind != HostAnswer::Kind::known) return {{}, answer.problem(host)};
  int error = 0;
  for (const SocketAddress& address : answer.addresses) {
    error = try_listening(address.with_port(port));
    if (error == 0) return {address.text(), {}};
    if (error == EADDRINUSE) break;  // nodes would connect to it, and reach whoever listens there
  }
  if (error == EADDRINUSE) return {{}, "another process listens on port " + std::to_string(port)};
  if (error == EADDRNOTAVAIL) return {{}, "no interface of this machine has the address " + host};
  return {{}, std::strerror(error)};
}

std::string own_address_towards(const std::string& host, std::chrono::milliseconds most,
                                HostResolver& resolver) {
  constexpr std::uint16_t kAnyPort = 9;
  for (const SocketAddress& address : resolver.look_up(host, most).addresses) {
    const int socket = ::socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) continue;
    const SocketAddress to = address.with_port(kAnyPort);
    std::string own;
    if (::connect(socket, to.get(), to.length) == 0) own = host_of(socket, &::getsockname);
    ::close(socket);
    if (!own.empty()) return own;
  }
  return {};
}

std::optional<int> connect_within(const std::string& host, std::uint16_t port, std::chrono::milliseconds most,
                                  ConnectError& why, HostResolver& resolver) {
  const auto deadline = Clock::now() + most;
  const HostAnswer answer = resolver.look_up(host, most);
  why = {answer.kind, answer.why, 0};
  auto left = static_cast<std::int64_t>(answer.addresses.size());
  for (const SocketAddress& each : answer.addresses) {
    // The first may be a dead end.
    const auto slice = std::max<Clock::duration>((deadline - Clock::now()) / left--, kSliceMin);
    const auto own_deadline = Clock::now() + slice;
    const SocketAddress address = each.with_port(port);
    const int socket = ::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = socket < 0 ? errno : 0;
    if (socket >= 0 && ::connect(socket, address.get(), address.length) != 0)
      error = errno == EINPROGRESS ? finish_connecting(socket, own_deadline) : errno;
    if (socket >= 0 && error == 0) return socket;
    if (socket >= 0) ::close(socket);
    why.error = error;
  }
  return std::nullopt;
}

BoundedSilence::BoundedSilence(int socket) : socket_(socket) {
  const std::string here = host_of(socket, &::getsockname), there = host_of(socket, &::getpeername);
  if (here.empty() || here == there) return;
  is_bounded_ = true;
  constexpr auto kUnheard_s = std::chrono::duration_cast<std::chrono::seconds>(kUnheardMax);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, static_cast<int>(kUnheard_s.count()));
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(kUnheardMax.count()));
  set(socket, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, 1);  // the first retransmissions do not back off
}

// While there is no room the kernel counts from when that began. So the bound is moved along with the time,
// as long as probes are answered; and probes come more often than the bound is ahead.
void BoundedSilence::look(Time now) {
  if (!is_bounded_ || now - looked_ < kLookAgain) return;
  looked_ = now;
  if (!has_no_room(socket_)) {
    if (!no_room_since_) return;
    no_room_since_.reset();
    return set(socket_, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(kUnheardMax.count()));
  }
  if (!no_room_since_) no_room_since_ = now;
  if (!answers_probes(socket_)) return;  // an answer may be lost: the bound stays where it is
  const auto bound = std::chrono::ceil<std::chrono::milliseconds>(now - *no_room_since_) + kAhead;
  set(socket_, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(std::min(bound, kBoundMax).count()));
}

}  // namespace muster
