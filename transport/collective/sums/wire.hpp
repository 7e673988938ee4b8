// How sums travel between hosts: as float32, or in 16 bits.
//
// With 16 bits every node of the canonical tree, from the leaves up, and the result are rounded where they
// are computed, also on one replica alone; sums are formed in float32. So what is sent loses nothing, whoever
// sends it, and the bits do not depend on who holds which shards.
//
// Rounding: to nearest, ties to even (IEEE 754-2019, 4.3.1); too large numbers become infinite. float16 is
// binary16 of IEEE 754; bfloat16 the upper half of binary32 (Wang and Kanwar, 2019).
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster {

enum class WireType : std::uint8_t { float32, float16, bfloat16 };

struct Wire {
  WireType type = WireType::float32;
  /// float16 only: a number is multiplied with 2 to this power before it is rounded, and divided after. From
  /// -60 to 60; none of these steps rounds a second time.
  int exponent = 0;

  bool rounds() const { return type != WireType::float32; }
  /// Of an element between hosts.
  std::size_t bytes() const { return rounds() ? sizeof(std::uint16_t) : sizeof(float); }
  bool operator==(const Wire&) const = default;
};

// Only of a wire that rounds. Any alignment; as many elements at a time as the processor can.

/// values[i] = what arrives if values[i] is sent
void round_to(const Wire& wire, std::size_t count, float* values);

/// Numbers that are rounded already; nothing is lost. `out` may begin where `values` does.
void pack(const Wire& wire, const float* values, std::size_t count, std::uint16_t* out);

/// The way back. `out` may begin where `values` does.
void unpack(const Wire& wire, const std::uint16_t* values, std::size_t count, float* out);

}  // namespace muster
