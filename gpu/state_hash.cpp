#include "muster/gpu/state_hash.hpp"

#include <openssl/evp.h>

#include <array>
#include <bit>

#include "muster/config/error.hpp"

namespace muster {

static_assert(std::endian::native == std::endian::little, "states are hashed as they lie in memory");

std::string sha256_hex(std::span<const std::byte> bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
    throw Error(Advice::give_up, "OpenSSL has no SHA-256");
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

std::string state_sha256(std::span<const float> state) {
  return sha256_hex(std::as_bytes(state));
}

}  // namespace muster
