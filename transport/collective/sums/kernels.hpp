// The arithmetic of the reduction, on as many elements at a time as this processor can: AVX2, AVX-512 and
// others are chosen at run time (Highway). Each element is added, multiplied or divided by itself, in
// float32, and no two operations are fused: the bits are those of the plain loop that each comment shows.
//
// Any alignment. `out` may be an operand, but must not overlap one otherwise.
#pragma once

#include <array>
#include <cstddef>

namespace muster::kernels {

/// out[i] = left[i] + right[i]
void add(const float* left, const float* right, std::size_t count, float* out);

/// What becomes of the sum: a product, where that has the bits of the division, or the quotient.
struct Scale {
  float factor = 1;
  bool divides = false;
};

/// How `out` is written: `streamed` past the caches, if it is aligned to 64 bytes and the processor can.
/// Other threads see it in order, as if it were not.
enum class Store { cached, streamed };

/// out[i] = values[i] * factor, or values[i] / factor
void scale(const float* values, std::size_t count, Scale by, float* out, Store store = Store::cached);

/// out[i] = (left[i] + right[i]) * factor, or / factor
void add_and_scale(const float* left, const float* right, std::size_t count, Scale by, float* out,
                   Store store = Store::cached);

/// out[i] = ((v[0][i] + v[1][i]) + (v[2][i] + v[3][i])) * factor, or / factor. Each value is read once, and
/// all at the same time: a core waits for four other ones' memory at once.
void add_four_and_scale(const std::array<const float*, 4>& v, std::size_t count, Scale by, float* out,
                        Store store = Store::cached);

/// What was chosen ("AVX3_ZEN4"), for people.
const char* chosen();

}  // namespace muster::kernels
