// Content hashes of data: what proves that two nodes read the same.
//
//   #include <vector>
//   #include "muster/fingerprint.hpp"
//
//   std::string fingerprint_of(const std::vector<float>& table) {
//     muster::Fingerprint fingerprint;
//     fingerprint.add(std::string_view("my table"));
//     fingerprint.add(std::as_bytes(std::span(table)));
//     return fingerprint.hex();
//   }
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace muster {

/// An incremental SHA-256 (OpenSSL). Each part carries its length, so that parts cannot flow into each other.
/// One thread.
class Fingerprint {
 public:
  Fingerprint();
  ~Fingerprint();
  /// Not copied: a hash in progress has one owner.
  Fingerprint(const Fingerprint&) = delete;
  Fingerprint& operator=(const Fingerprint&) = delete;

  /// Adds the length and the bytes of a part.
  void add(std::span<const std::byte> part);
  /// Adds the length and the bytes of a text.
  void add(std::string_view part) { add(std::as_bytes(std::span(part.data(), part.size()))); }
  /// Adds the bits of a number.
  void add(double number);
  /// Adds an integer as one of 64 bits.
  template <std::integral Number>
  void add(Number number) {
    add_number(static_cast<std::uint64_t>(number));
  }

  /// 64 lower-case hex digits. Ends the hash: nothing may be added after it.
  std::string hex();

 private:
  void add_number(std::uint64_t number);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster
