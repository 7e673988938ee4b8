// Text that is put together in a signal handler, where nothing may be allocated and no lock taken.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace muster {

/// What goes beyond its room is left out.
class HandlerText {
 public:
  static constexpr std::size_t kRoom = 1024;

  void add(char letter) {
    if (size_ < kRoom) text_[size_++] = letter;
  }
  void add(std::string_view text) {
    for (const char letter : text) add(letter);
  }
  void add(std::uint64_t number) {
    std::array<char, 20> digits{};
    std::size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number > 0);
    while (count > 0) add(digits[--count]);
  }
  /// Takes back what was added beyond so many letters.
  void cut(std::size_t size) { size_ = size; }

  std::size_t size() const { return size_; }
  std::string_view view() const { return {text_.data(), size_}; }

 private:
  std::array<char, kRoom> text_{};
  std::size_t size_ = 0;
};

}  // namespace muster
