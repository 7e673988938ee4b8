#include "transport/seal.hpp"

#include <cstdint>
#include <cstring>

#include "muster/error.hpp"

namespace muster {
namespace {

/// FNV-1a, 64 bits: against damage and mix-ups, not against forgery.
std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace

std::string seal(std::string_view mark, std::string_view bytes) {
  const std::uint64_t sum = checksum(bytes);
  std::string sealed(mark);
  sealed.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  return sealed.append(bytes);
}

std::string unseal(std::string_view mark, std::string_view sealed, const std::string& what) {
  std::uint64_t sum = 0;
  if (!sealed.starts_with(mark) || sealed.size() <= mark.size() + sizeof sum)
    throw Error("not " + what + " (" + std::to_string(sealed.size()) + " bytes)");
  sealed.remove_prefix(mark.size());
  std::memcpy(&sum, sealed.data(), sizeof sum);
  sealed.remove_prefix(sizeof sum);
  if (checksum(sealed) != sum) throw Error("damaged: " + what);
  return std::string(sealed);
}

}  // namespace muster
