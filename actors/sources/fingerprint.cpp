#include "muster/fingerprint.hpp"

#include <openssl/evp.h>

#include <array>
#include <bit>

#include "base/check.hpp"

namespace muster {

struct Fingerprint::State {
  struct Free {
    void operator()(EVP_MD_CTX* used) const { EVP_MD_CTX_free(used); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};

  void update(const void* data, std::size_t size) {
    MUSTER_CHECK(EVP_DigestUpdate(context.get(), data, size) == 1);
  }
  void update(std::uint64_t number) {
    std::array<unsigned char, 8> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(number >> (8 * i));
    update(bytes.data(), bytes.size());
  }
};

Fingerprint::Fingerprint() : state_(std::make_unique<State>()) {
  MUSTER_CHECK(state_->context != nullptr);
  MUSTER_CHECK(EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1);
}

Fingerprint::~Fingerprint() = default;

void Fingerprint::add(std::span<const std::byte> part) {
  state_->update(part.size());
  state_->update(part.data(), part.size());
}

void Fingerprint::add_number(std::uint64_t number) {
  state_->update(number);
}

void Fingerprint::add(double number) {
  state_->update(std::bit_cast<std::uint64_t>(number));
}

std::string Fingerprint::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  MUSTER_CHECK(EVP_DigestFinal_ex(state_->context.get(), digest.data(), &size) == 1);
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

}  // namespace muster
