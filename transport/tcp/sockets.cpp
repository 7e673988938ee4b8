#include "transport/tcp/sockets.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/bounded/host_resolver.hpp"
#include "muster/error.hpp"

namespace muster::tcp {
namespace {

// Within a host there is no latency that more would hide, and what is under way stays in the processor's
// cache.
constexpr int kBufferWithinHost = 512 << 10;
constexpr int kUnsentBetweenHosts = 256 << 10;

/// The address by which others reach this host, of the same family as the wildcard.
std::string outward_address(sa_family_t family) {
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0) throw Error("the network interfaces cannot be listed");
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(found, &::freeifaddrs);
  const socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  for (const ifaddrs* entry = found; entry != nullptr; entry = entry->ifa_next) {
    const bool up = (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_LOOPBACK) == 0;
    if (up && entry->ifa_addr != nullptr && entry->ifa_addr->sa_family == family)
      return SocketAddress::copy_of(entry->ifa_addr, length).text();
  }
  return family == AF_INET ? "127.0.0.1" : "::1";
}

Descriptor new_socket(int family) {
  Descriptor made(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made) throw Error(std::string("TCP: socket: ") + std::strerror(errno));
  return made;
}

// On its port; none if it is taken.
Descriptor try_port(const std::string& host, const SocketAddress& at) {
  const std::uint16_t port = at.port();
  Descriptor listener = new_socket(at.family());
  constexpr int kOn = 1;  // connections of a process that has ended may linger there
  if (port > 0) ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof kOn);
  const bool bound = ::bind(listener.get(), at.get(), at.length) == 0;
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
  const HostAnswer answer = host_resolver().look_up(host, kOwnNameMax);
  if (answer.kind != HostAnswer::Kind::known) throw Error(answer.problem(host));
  for (std::uint32_t port = first; port <= last; ++port) {
    const SocketAddress at = answer.addresses.front().with_port(static_cast<std::uint16_t>(port));
    if (Descriptor listener = try_port(host, at)) return listener;
  }
  throw Error("every port from " + std::to_string(first) + " to " + std::to_string(last) +
              " (cluster.data_ports) of this node is taken; give a wider range");
}

}  // namespace

Descriptor listen_at(const std::string& host, std::uint16_t first, std::uint16_t last, Address& reached) {
  const std::string& where = host.empty() ? std::string("0.0.0.0") : host;
  Descriptor listener = listen_in_range(where, first, last);
  SocketAddress at;
  if (::getsockname(listener.get(), at.get(), &at.length) != 0)
    throw Error(std::string("TCP: listen: ") + std::strerror(errno));
  reached.ip = at.is_wildcard() ? outward_address(at.family()) : at.text();
  reached.port = at.port();
  return listener;
}

Descriptor dial(const Address& address, bool same_host) {
  const auto numeric = SocketAddress::from_text(address.ip);
  if (!numeric) throw Error("a TCP transport at '" + address.ip + "', which is no address");
  const SocketAddress to = numeric->with_port(address.port);
  Descriptor socket = new_socket(to.family());
  constexpr int kOn = 1;  // a message is written whole: nothing comes behind it that it could wait for
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &kOn, sizeof kOn);
  if (same_host)
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &kBufferWithinHost, sizeof kBufferWithinHost);
  else  // what the kernel has taken goes before every sign of life that follows
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBetweenHosts,
                 sizeof kUnsentBetweenHosts);
  if (::connect(socket.get(), to.get(), to.length) != 0 && errno != EINPROGRESS) return {};
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
