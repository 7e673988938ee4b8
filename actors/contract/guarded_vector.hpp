// A vector with a margin on both sides, which shows whether someone writes beyond its ends, and what of it
// was not written.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace muster {

class GuardedFloats {
 public:
  explicit GuardedFloats(std::size_t size) : all_(size + 2 * kMargin, poison()), size_(size) {}

  std::span<float> span() { return std::span(all_).subspan(kMargin, size_); }
  std::span<const float> values() const { return std::span(all_).subspan(kMargin, size_); }
  void fill(float value) { std::ranges::fill(span(), value); }

  /// A NaN that no computation gives.
  static float poison() { return std::bit_cast<float>(kPoison); }
  static bool is_poison(float value) { return std::bit_cast<std::uint32_t>(value) == kPoison; }

  bool margins_are_whole() const {
    const auto whole = [](std::span<const float> part) { return std::ranges::all_of(part, is_poison); };
    return whole(std::span(all_).first(kMargin)) && whole(std::span(all_).last(kMargin));
  }

 private:
  static constexpr std::size_t kMargin = 1024;
  static constexpr std::uint32_t kPoison = 0x7fc5a5a5;
  std::vector<float> all_;
  std::size_t size_;
};

}  // namespace muster
