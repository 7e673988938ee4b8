// Values as bytes, little endian as they lie in memory, and back. For what is kept in files or travels whole;
// the reader trusts no length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace muster {

/// Appends values to a vector that it does not own.
class ByteWriter {
 public:
  explicit ByteWriter(std::vector<std::byte>& out) : out_(out) {}

  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void put(T value) { append(std::as_bytes(std::span<const T, 1>(&value, 1))); }
  void put(bool value) { put(static_cast<std::uint8_t>(value)); }
  void put(const std::string& text) {
    put(static_cast<std::uint64_t>(text.size()));
    append(std::as_bytes(std::span(text)));
  }
  /// Length, then the elements.
  template <class T>
  void put_all(std::span<const T> values) {
    put(static_cast<std::uint64_t>(values.size()));
    append(std::as_bytes(values));
  }

 private:
  void append(std::span<const std::byte> bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }

  std::vector<std::byte>& out_;
};

/// Takes values from the front. The first that is not there, or longer than it may be, latches `failed`: from
/// then on every value is zero or empty, and nothing more is taken or allocated.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) T take() {
    T value{};
    copy(std::as_writable_bytes(std::span<T, 1>(&value, 1)));
    return value;
  }
  bool take_bool() {
    const auto value = take<std::uint8_t>();
    if (value > 1) fail();
    return value == 1;
  }
  std::string take_text(std::uint64_t most) {
    std::string text(take_length(most, 1), '\0');
    copy(std::as_writable_bytes(std::span(text)));
    return text;
  }
  /// A list of at most so many elements.
  template <class T>
  std::vector<T> take_all(std::uint64_t most) {
    std::vector<T> values(take_length(most, sizeof(T)));
    copy(std::as_writable_bytes(std::span(values)));
    return values;
  }
  /// So many bytes, where they lie.
  std::span<const std::byte> take_bytes(std::size_t count) {
    if (count > bytes_.size()) fail();
    const auto bytes = bytes_.first(failed_ ? 0 : count);
    bytes_ = bytes_.subspan(bytes.size());
    return bytes;
  }
  /// A list of at most so many bytes, where it lies.
  std::span<const std::byte> take_span(std::uint64_t most) { return take_bytes(take_length(most, 1)); }
  /// The length of a list whose elements take at least `element_bytes` each; 0 if it cannot be.
  std::size_t take_length(std::uint64_t most, std::size_t element_bytes) {
    const auto length = take<std::uint64_t>();
    if (length > most || length > bytes_.size() / element_bytes) fail();
    return failed_ ? 0 : static_cast<std::size_t>(length);
  }

  void fail() {
    failed_ = true;
    bytes_ = {};
  }
  bool failed() const { return failed_; }
  /// Whether all was taken, and all was there.
  bool complete() const { return !failed_ && bytes_.empty(); }
  std::span<const std::byte> rest() const { return bytes_; }

 private:
  void copy(std::span<std::byte> to) {
    if (to.size() > bytes_.size()) fail();
    if (failed_ || to.empty()) return;
    std::memcpy(to.data(), bytes_.data(), to.size());
    bytes_ = bytes_.subspan(to.size());
  }

  std::span<const std::byte> bytes_;
  bool failed_ = false;
};

}  // namespace muster
