// Whether a batch is what it says it is: the check of what comes from a user's source or from another
// process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "muster/tensors.hpp"

namespace muster {

/// Bounds that no batch passes; they keep malformed input from costing anything.
constexpr std::size_t kTensorsMax = 64;
constexpr std::size_t kRankMax = 16;

/// Bytes of a tensor of this type and shape. False: a negative extent, or more than 2^63 - 1 bytes.
bool tensor_bytes(DType dtype, const std::vector<std::int64_t>& shape, std::uint64_t& bytes);

/// Empty, or what is wrong: no rows, tensors without a batch dimension of rows + padding, bytes that do not
/// fit the shape.
std::string batch_mistake(const Batch& batch);

/// A NaN or Inf in a batch.
struct NotFinitePlace {
  std::uint32_t field = 0;  ///< the tensor
  std::uint32_t row = 0;
  std::size_t element = 0;  ///< of the row, row-major
  float value = 0;
};

/// The first one of the first row that has one; padding does not count.
std::optional<NotFinitePlace> find_not_finite(const Batch& batch);

}  // namespace muster
