// What the fuzz harnesses share. Each decoder has one file, fuzz_<what>.cpp, which defines the two functions
// below; libfuzzer_entry.cpp makes a libFuzzer program of it, replay_main.cpp a test that repeats itself.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.hpp"

namespace muster::fuzz {

using Bytes = std::vector<std::byte>;
using Input = std::span<const std::byte>;

/// Gives the input to the decoder; ends the process if the decoder does anything else than accept or refuse
/// it, or accepts what it cannot give back. True: accepted.
bool accepts(Input input);

/// Good inputs, made by the encoders themselves, so that they follow every change of a format. `accepts`
/// holds for each.
std::vector<Bytes> seeds();

/// Numbers and pieces from the front of an input; zeros and less where it is at its end.
class Choices {
 public:
  explicit Choices(Input input) : input_(input) {}

  template <class T>
  T number() {
    T value{};
    const Input bytes = piece(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  std::uint32_t below(std::uint32_t bound) { return number<std::uint8_t>() % bound; }
  Input piece(std::size_t bytes) {
    const Input front = input_.first(std::min(bytes, input_.size()));
    input_ = input_.subspan(front.size());
    return front;
  }
  Input rest() { return piece(input_.size()); }
  bool empty() const { return input_.empty(); }

 private:
  Input input_;
};

inline Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline Bytes joined(std::initializer_list<Input> pieces) {
  std::size_t size = 0;
  for (const Input piece : pieces) size += piece.size();
  Bytes all(size);
  std::byte* out = all.data();
  for (const Input piece : pieces) out = std::copy(piece.begin(), piece.end(), out);
  return all;
}

template <class T>
Input raw(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

inline std::string text_of(Input input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

inline bool same_bytes(Input a, Input b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace muster::fuzz
