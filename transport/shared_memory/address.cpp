#include "transport/shared_memory/address.hpp"

#include <sys/stat.h>

#include <fstream>
#include <random>

#include "muster/error.hpp"
#include "transport/seal.hpp"

namespace muster::shm {
namespace {

constexpr std::string_view kMark = "muster-shm-1:";
constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string this_host() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  struct stat network {};
  if (boot.empty() || ::stat("/proc/self/ns/net", &network) != 0) return new_name();  // reaches nobody
  return boot + "/" + std::to_string(network.st_ino);
}

std::string new_name() {
  std::random_device device;
  std::string name;
  while (name.size() < kNameBytes) {
    for (auto [bits, left] = std::pair(device(), 8); left > 0; --left, bits >>= 4) name += kDigits[bits & 15];
  }
  return name;
}

std::string seal_address(const LocalAddress& address) {
  return seal(kMark, address.name + address.host);
}

LocalAddress open_address(std::string_view sealed) {
  const std::string text = unseal(kMark, sealed, "the address of a process on this host");
  if (text.size() <= kNameBytes) throw Error("the address of a process without a host");
  return {text.substr(kNameBytes), text.substr(0, kNameBytes)};
}

}  // namespace muster::shm
