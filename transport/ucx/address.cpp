#include "muster/transport/ucx/address.hpp"

#include <cstdint>
#include <cstring>

#include "muster/config/error.hpp"

namespace muster::ucx {
namespace {

constexpr std::string_view kMark = "muster-ucx-1:";

/// FNV-1a, 64 bits: against damage and mix-ups, not against forgery.
std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace

std::string seal_address(std::string_view worker_address) {
  const std::uint64_t sum = checksum(worker_address);
  std::string sealed(kMark);
  sealed.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  sealed.append(worker_address);
  return sealed;
}

std::string open_address(std::string_view sealed) {
  std::uint64_t sum = 0;
  if (!sealed.starts_with(kMark) || sealed.size() <= kMark.size() + sizeof sum) {
    throw Error(Advice::give_up,
                "not the address of a UCX transport (" + std::to_string(sealed.size()) + " bytes)");
  }
  sealed.remove_prefix(kMark.size());
  std::memcpy(&sum, sealed.data(), sizeof sum);
  sealed.remove_prefix(sizeof sum);
  if (checksum(sealed) != sum) throw Error(Advice::give_up, "the address of a UCX transport is damaged");
  return std::string(sealed);
}

}  // namespace muster::ucx
