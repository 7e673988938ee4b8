#include "gpu/optimizer/state_hash.hpp"

#include <openssl/evp.h>

#include <array>
#include <bit>
#include <fstream>
#include <vector>

#include "muster/error.hpp"

namespace muster {

static_assert(std::endian::native == std::endian::little, "states are hashed as they lie in memory");

namespace {

void expect_done(int answer) {
  if (answer != 1) throw Error("OpenSSL has no SHA-256");
}

}  // namespace

struct Sha256::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  expect_done(EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr));
}

Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) {
  expect_done(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()));
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  expect_done(EVP_DigestFinal_ex(state_->context.get(), digest.data(), &size));
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}

std::string sha256_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Sha256 hash;
  std::vector<char> part(std::size_t{1} << 20);
  while (file) {
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    hash.add(std::as_bytes(std::span(part).first(static_cast<std::size_t>(file.gcount()))));
  }
  if (!file.eof()) throw Error(path + " cannot be read");
  return hash.hex();
}

std::string state_sha256(std::span<const float> state) {
  return sha256_hex(std::as_bytes(state));
}

}  // namespace muster
