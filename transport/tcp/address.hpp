// Where a process is reached over TCP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster::tcp {

struct Address {
  std::string name;  ///< unique in the world; of kNameBytes bytes
  std::string ip;    ///< as numbers: "10.0.0.7", "fe80::1%eth0"
  std::uint16_t port = 0;

  bool operator==(const Address&) const = default;
};

inline constexpr std::size_t kNameBytes = 32;

std::string seal_address(const Address& address);

/// Whether the bytes say that they are one.
bool is_address(std::string_view bytes);

/// Throws Error if the bytes are no sealed address, or a damaged one.
Address open_address(std::string_view sealed);

}  // namespace muster::tcp
