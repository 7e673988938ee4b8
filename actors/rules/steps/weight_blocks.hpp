// Which block of the weights is hashed behind which step: a pure rule. The blocks take turns, so that all
// weights have been compared within as many steps as there are blocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "transport/collective/sums/accumulator.hpp"

namespace muster {

/// Most blocks: the steps within which all weights have been hashed.
inline constexpr std::size_t kWeightBlocksMax = 64;
/// Least elements of a block; smaller models are hashed in fewer steps.
inline constexpr std::size_t kWeightBlockElements = 1024;

inline std::size_t weight_blocks(std::size_t elements) {
  return std::clamp<std::size_t>(elements / kWeightBlockElements, 1, kWeightBlocksMax);
}

inline std::uint32_t weight_block_of(std::uint64_t step, std::size_t elements) {
  return static_cast<std::uint32_t>(step % weight_blocks(elements));
}

inline ElementRange weight_block(std::uint32_t block, std::size_t elements) {
  const std::size_t blocks = weight_blocks(elements);
  return {elements * block / blocks, elements * (block + 1) / blocks};
}

}  // namespace muster
