// The hash by which weights and gradients are compared: no bit can be flipped without another hash.
#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "gpu/optimizer/block_hash.hpp"

namespace muster {
namespace {

std::vector<float> values(std::size_t count) {
  std::vector<float> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = 0.25f * static_cast<float>(i) - 3;
  return all;
}

void flip(float& value, unsigned bit) {
  value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1u << bit);
}

TEST(BlockHash, SeesEveryFlippedBit) {
  for (const std::size_t count : {1, 7, 8, 9, 33}) {
    auto all = values(count);
    const std::uint64_t before = block_hash(all);
    for (std::size_t i = 0; i < count; ++i) {
      for (unsigned bit = 0; bit < 32; ++bit) {
        flip(all[i], bit);
        EXPECT_NE(block_hash(all), before) << "bit " << bit << " of element " << i << " of " << count;
        flip(all[i], bit);
      }
    }
    EXPECT_EQ(block_hash(all), before);
  }
}

TEST(BlockHash, SeesTwoFlippedSigns) {
  auto all = values(64);
  const std::uint64_t before = block_hash(all);
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t j = i + 1; j < 64; ++j) {
      flip(all[i], 31);
      flip(all[j], 31);
      EXPECT_NE(block_hash(all), before) << i << " and " << j;
      flip(all[i], 31);
      flip(all[j], 31);
    }
  }
}

TEST(BlockHash, SeesTheNumberOfElementsAndTheirOrder) {
  EXPECT_NE(block_hash(std::vector<float>(8)), block_hash(std::vector<float>(9)));
  EXPECT_NE(block_hash(std::vector<float>{1, 2}), block_hash(std::vector<float>{2, 1}));
  EXPECT_NE(block_hash(std::vector<float>{0.0f}), block_hash(std::vector<float>{-0.0f}));
}

}  // namespace
}  // namespace muster
