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
  Fingerprint(const Fingerprint&) = delete;
  Fingerprint& operator=(const Fingerprint&) = delete;

  void add(std::span<const std::byte> part);
  void add(std::string_view part) { add(std::as_bytes(std::span(part.data(), part.size()))); }
  void add(double number);
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
