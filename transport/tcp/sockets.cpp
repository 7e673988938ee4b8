#include "transport/tcp/sockets.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "muster/error.hpp"

namespace muster::tcp {
namespace {

// Within a host there is no latency that more would hide, and what is under way stays in the processor's
// cache.
constexpr int kBufferWithinHost = 512 << 10;
constexpr int kUnsentBetweenHosts = 256 << 10;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

std::optional<SocketAddress> resolve(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  SocketAddress address;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.length = found->ai_addrlen;
  return address;
}

std::string numbers_of(const sockaddr* address, socklen_t length) {
  char text[NI_MAXHOST] = {};
  ::getnameinfo(address, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return text;
}

bool is_wildcard(const SocketAddress& address) {
  if (address.storage.ss_family == AF_INET)
    return reinterpret_cast<const sockaddr_in*>(address.get())->sin_addr.s_addr == INADDR_ANY;
  return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(address.get())->sin6_addr);
}

/// The address by which others reach this host, of the same family as the wildcard.
std::string outward_address(sa_family_t family) {
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0) throw Error("the network interfaces cannot be listed");
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(found, &::freeifaddrs);
  const socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  for (const ifaddrs* entry = found; entry != nullptr; entry = entry->ifa_next) {
    const bool up = (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_LOOPBACK) == 0;
    if (up && entry->ifa_addr != nullptr && entry->ifa_addr->sa_family == family)
      return numbers_of(entry->ifa_addr, length);
  }
  return family == AF_INET ? "127.0.0.1" : "::1";
}

Descriptor new_socket(int family) {
  Descriptor made(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made) throw Error(std::string("TCP: socket: ") + std::strerror(errno));
  return made;
}

// On this port; none if it is taken.
Descriptor try_port(const std::string& host, std::uint16_t port) {
  const auto at = resolve(host, port, AI_PASSIVE);
  if (!at) throw Error("'" + host + "' is no address");
  Descriptor listener = new_socket(at->storage.ss_family);
  constexpr int kOn = 1;  // connections of a process that has ended may linger there
  if (port > 0) ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof kOn);
  const bool bound = ::bind(listener.get(), at->get(), at->length) == 0;
  if (!bound && errno == EACCES)
    throw Error("port " + std::to_string(port) +
                " of cluster.data_ports is not for this user: those below 1024 need privileges");
  if (!bound && errno != EADDRINUSE) throw Error("no network interface of this node has the address " + host);
  if (bound && ::listen(listener.get(), SOMAXCONN) == 0) return listener;
  if (errno != EADDRINUSE) throw Error(std::string("TCP: listen: ") + std::strerror(errno));
  return {};
}

// On the first one of the range that is free.
Descriptor listen_in_range(const std::string& host, std::uint16_t first, std::uint16_t last) {
  for (std::uint32_t port = first; port <= last; ++port) {
    if (Descriptor listener = try_port(host, static_cast<std::uint16_t>(port))) return listener;
  }
  throw Error("every port from " + std::to_string(first) + " to " + std::to_string(last) +
              " (cluster.data_ports) of this node is taken; give a wider range");
}

}  // namespace

Descriptor listen_at(const std::string& host, std::uint16_t first, std::uint16_t last, Address& reached) {
  const std::string& where = host.empty() ? std::string("0.0.0.0") : host;
  Descriptor listener = listen_in_range(where, first, last);
  auto at = resolve(where, 0, AI_PASSIVE);
  if (::getsockname(listener.get(), at->get(), &at->length) != 0)
    throw Error(std::string("TCP: listen: ") + std::strerror(errno));
  reached.ip = is_wildcard(*at) ? outward_address(at->storage.ss_family) : numbers_of(at->get(), at->length);
  const bool four = at->storage.ss_family == AF_INET;
  reached.port = ntohs(four ? reinterpret_cast<const sockaddr_in*>(at->get())->sin_port
                            : reinterpret_cast<const sockaddr_in6*>(at->get())->sin6_port);
  return listener;
}

Descriptor dial(const Address& address, bool same_host) {
  const auto to = resolve(address.ip, address.port, AI_NUMERICHOST);
  if (!to) throw Error("a TCP transport at '" + address.ip + "', which is no address");
  Descriptor socket = new_socket(to->storage.ss_family);
  constexpr int kOn = 1;  // a message is written whole: nothing comes behind it that it could wait for
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &kOn, sizeof kOn);
  if (same_host)
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &kBufferWithinHost, sizeof kBufferWithinHost);
  else  // what the kernel has taken goes before every sign of life that follows
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBetweenHosts,
                 sizeof kUnsentBetweenHosts);
  if (::connect(socket.get(), to->get(), to->length) != 0 && errno != EINPROGRESS) return {};
  return socket;
}

int dial_error(const Descriptor& socket) {
  int error = 0;
  socklen_t length = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

// Probes begin when a quarter of the time has gone without a message, and three may stay unanswered. The
// kernel counts them in whole seconds.
void end_after_silence(const Descriptor& socket, std::chrono::milliseconds silence_max) {
  if (silence_max.count() == 0) return;
  constexpr int kOn = 1, kProbes = 3;
  const int quarter = std::max(1, static_cast<int>(silence_max.count() / 4000));
  const auto milliseconds = static_cast<unsigned int>(silence_max.count());
  ::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &kOn, sizeof kOn);
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPIDLE, &quarter, sizeof quarter);
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPINTVL, &quarter, sizeof quarter);
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPCNT, &kProbes, sizeof kProbes);
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

Descriptor accept_from(const Descriptor& listener) {
  return Descriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

}  // namespace muster::tcp
