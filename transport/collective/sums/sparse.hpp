// Sums that are mostly +0, on their way between hosts: only the elements that are anything else, and where
// they are. Nothing is lost: -0, denormals and NaN are kept as they are.
//
// In blocks of 65536 elements, the last one shorter. Of each: how many elements are not +0 (32 bits), their
// positions in the block, ascending (16 bits each), their values in the same order (as the wire has them, 32
// or 16 bits each). Little endian, without gaps.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "transport/collective/sums/wire.hpp"

namespace muster {

/// What the sparse form of these elements takes, also where the dense one (count * wire.bytes()) is smaller.
std::size_t sparse_bytes(const float* values, std::size_t count, const Wire& wire);

/// Writes the sparse form; on a wire that rounds, of numbers that are rounded already. Returns its bytes, or
/// nothing if it is not smaller than the dense one or does not fit into `capacity`: then nothing is written.
std::optional<std::size_t> pack_sparse(const float* values, std::size_t count, const Wire& wire,
                                       std::byte* out, std::size_t capacity);

/// The way back, into all of `count` elements. False if `pack_sparse` cannot have written these bytes; what
/// is in `out` then is of no use.
bool unpack_sparse(std::span<const std::byte> bytes, std::size_t count, const Wire& wire, float* out);

}  // namespace muster
