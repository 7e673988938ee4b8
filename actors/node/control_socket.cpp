#include "actors/node/control_socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "actors/rules/watch/return_time.hpp"

namespace muster {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kSliceMin{300};

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

// As text, without the port; empty if it is not known.
std::string host_of(int socket, int (*ask)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  std::array<char, NI_MAXHOST> text{};
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (ask(socket, generic, &length) != 0 ||
      ::getnameinfo(generic, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    return {};
  return text.data();
}

}  // namespace

std::string ConnectError::text() const {
  return resolver == 0 || resolver == EAI_SYSTEM ? std::strerror(error) : ::gai_strerror(resolver);
}

FailedLook why_not_found(const std::string& host, std::uint16_t port, std::chrono::milliseconds most) {
  ConnectError why;
  if (const auto socket = connect_within(host, port, most, why)) {
    ::close(*socket);
    return {NotFound::no_coordinator, {}};
  }
  const bool unknown = why.resolver == EAI_NONAME || why.resolver == EAI_NODATA;
  const bool refused = why.resolver == 0 && why.error == ECONNREFUSED;
  return {unknown ? NotFound::name_unknown : refused ? NotFound::refused : NotFound::no_answer, why.text()};
}

std::string why_not_listening(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); error != 0)
    return ::gai_strerror(error);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  const int socket = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return std::strerror(errno);
  set(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  const bool listens = ::bind(socket, found->ai_addr, found->ai_addrlen) == 0 && ::listen(socket, 1) == 0;
  const int error = listens ? 0 : errno;
  ::close(socket);
  if (error == EADDRINUSE) return "another process listens on port " + std::to_string(port);
  if (error == EADDRNOTAVAIL) return "no interface of this machine has the address " + host;
  return error == 0 ? std::string() : std::strerror(error);
}

std::optional<int> connect_within(const std::string& host, std::uint16_t port, std::chrono::milliseconds most,
                                  ConnectError& why) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
      error != 0) {
    why = {error, errno};
    return std::nullopt;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  std::int64_t left = 0;
  for (const addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) ++left;
  const auto deadline = Clock::now() + most;
  for (const addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) {
    // The first may be a dead end.
    const auto slice = std::max<Clock::duration>((deadline - Clock::now()) / left--, kSliceMin);
    const auto own_deadline = Clock::now() + slice;
    const int socket = ::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = socket < 0 ? errno : 0;
    if (socket >= 0 && ::connect(socket, each->ai_addr, each->ai_addrlen) != 0)
      error = errno == EINPROGRESS ? finish_connecting(socket, own_deadline) : errno;
    if (socket >= 0 && error == 0) return socket;
    if (socket >= 0) ::close(socket);
    why = {0, error};
  }
  return std::nullopt;
}

void bound_silence(int socket) {
  const std::string here = host_of(socket, &::getsockname), there = host_of(socket, &::getpeername);
  if (here.empty() || here == there) return;
  constexpr auto kUnheard_s = std::chrono::duration_cast<std::chrono::seconds>(kUnheardMax);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, static_cast<int>(kUnheard_s.count()));
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(kUnheardMax.count()));
  set(socket, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, 1);  // the first retransmissions do not back off
}

}  // namespace muster
