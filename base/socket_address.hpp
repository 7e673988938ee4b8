// An IP address with a port, as the kernel takes it.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

namespace muster {

/// A value. Version 4 or 6; of another family it has no text and no port.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sa_family_t family() const { return storage.ss_family; }

  std::uint16_t port() const;
  SocketAddress with_port(std::uint16_t port) const;
  /// Whether it stands for every address of a machine.
  bool is_wildcard() const;
  /// "10.0.0.1" or "fe80::1%eth0", without the port; empty if it is no IP address.
  std::string text() const;

  static SocketAddress copy_of(const sockaddr* address, socklen_t length);
  /// What stands there as numbers, with port 0; none if it is a name. Asks nobody, and does not block.
  static std::optional<SocketAddress> from_text(const std::string& text);
};

}  // namespace muster
