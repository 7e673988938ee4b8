#include "base/socket_address.hpp"

#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace muster {

namespace {

// The port of either version, in the order of the network; none of another family.
in_port_t* port_of(SocketAddress& address) {
  if (address.family() == AF_INET) return &reinterpret_cast<sockaddr_in*>(address.get())->sin_port;
  if (address.family() == AF_INET6) return &reinterpret_cast<sockaddr_in6*>(address.get())->sin6_port;
  return nullptr;
}

}  // namespace

std::uint16_t SocketAddress::port() const {
  SocketAddress copy = *this;
  const in_port_t* port = port_of(copy);
  return port ? ntohs(*port) : 0;
}

SocketAddress SocketAddress::with_port(std::uint16_t port) const {
  SocketAddress changed = *this;
  if (in_port_t* place = port_of(changed)) *place = htons(port);
  return changed;
}

bool SocketAddress::is_wildcard() const {
  if (family() == AF_INET) return reinterpret_cast<const sockaddr_in*>(get())->sin_addr.s_addr == INADDR_ANY;
  return family() == AF_INET6 &&
         IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(get())->sin6_addr);
}

std::string SocketAddress::text() const {
  char text[NI_MAXHOST] = {};
  if (family() != AF_INET && family() != AF_INET6) return {};
  if (::getnameinfo(get(), length, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) return {};
  return text;
}

SocketAddress SocketAddress::copy_of(const sockaddr* address, socklen_t length) {
  SocketAddress copy;
  copy.length = std::min<socklen_t>(length, sizeof copy.storage);
  std::memcpy(&copy.storage, address, copy.length);
  return copy;
}

std::optional<SocketAddress> SocketAddress::from_text(const std::string& text) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (::getaddrinfo(text.c_str(), nullptr, &hints, &found) != 0) return std::nullopt;
  const SocketAddress address = copy_of(found->ai_addr, found->ai_addrlen);
  ::freeaddrinfo(found);
  return address;
}

}  // namespace muster
