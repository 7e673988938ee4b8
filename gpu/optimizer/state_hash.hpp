// The hash by which two states are compared.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace muster {

/// SHA-256 (FIPS 180-4) as 64 lower-case hexadecimal digits. Any thread. Throws Error if OpenSSL
/// refuses.
std::string sha256_hex(std::span<const std::byte> bytes);

/// The same, of a file's content. Throws Error if it cannot be read.
std::string sha256_of_file(const std::string& path);

/// The same, of bytes that come in parts.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::span<const std::byte> bytes);
  /// Once, at the end.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The same over the little-endian float32 elements: what a report calls weights_sha256 when given
/// parameters, then buffers.
std::string state_sha256(std::span<const float> state);

}  // namespace muster
