#include "transport/tcp/address.hpp"

#include <cstring>

#include "muster/error.hpp"
#include "transport/seal.hpp"

namespace muster::tcp {
namespace {

constexpr std::string_view kMark = "muster-tcp-1:";

}  // namespace

// Name, port in two bytes, IP address.
std::string seal_address(const Address& address) {
  const std::string port(reinterpret_cast<const char*>(&address.port), sizeof address.port);
  return seal(kMark, address.name + port + address.ip);
}

bool is_address(std::string_view bytes) {
  return bytes.starts_with(kMark);
}

Address open_address(std::string_view sealed) {
  const std::string bytes = unseal(kMark, sealed, "the address of a TCP transport");
  Address address;
  if (bytes.size() <= kNameBytes + sizeof address.port)
    throw Error("the address of a TCP transport is cut short");
  address.name = bytes.substr(0, kNameBytes);
  std::memcpy(&address.port, bytes.data() + kNameBytes, sizeof address.port);
  address.ip = bytes.substr(kNameBytes + sizeof address.port);
  return address;
}

}  // namespace muster::tcp
