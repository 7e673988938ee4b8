// The blocks of the weights that are hashed: all elements, each once, within the stated number of steps.
#include <gtest/gtest.h>

#include <map>

#include "actors/rules/steps/weight_blocks.hpp"

namespace muster {
namespace {

TEST(WeightBlocks, CoverEveryElementOnceWithinSixtyFourSteps) {
  for (const std::size_t elements : {1, 21, 1023, 1024, 2048, 5000, 65536, 1000003}) {
    const std::size_t blocks = weight_blocks(elements);
    ASSERT_LE(blocks, 64u);
    std::map<std::size_t, std::size_t> ends;  // by begin
    for (std::uint64_t step = 500; step < 500 + blocks; ++step) {
      const ElementRange range = weight_block(weight_block_of(step, elements), elements);
      ends[range.begin] = range.end;
    }
    std::size_t at = 0;
    for (const auto& [begin, end] : ends) {
      EXPECT_EQ(begin, at);
      at = end;
    }
    EXPECT_EQ(at, elements);
    EXPECT_EQ(ends.size(), blocks);
  }
}

}  // namespace
}  // namespace muster
