#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <map>
#include <random>

#include "tests/support/random_values.hpp"
#include "tests/support/tree_oracle.hpp"
#include "transport/collective/sums/canonical_tree.hpp"

namespace {

using namespace muster;
using oracle::RandomValues;
using oracle::Values;

constexpr std::uint32_t kShardsMax = 33;

TEST(CanonicalTree, HeightIsTheLeastThatHoldsAllShards) {
  for (std::uint32_t shards = 1; shards <= 70; ++shards) {
    const unsigned height = tree_height(shards);
    EXPECT_GE(1u << height, shards);
    if (height > 0) {
      EXPECT_LT(1u << (height - 1), shards);
    }
  }
  EXPECT_EQ(tree_height(1u << 20), 20u);
}

TEST(CanonicalTree, ShardsBeyondTheBoundAreABug) {
  EXPECT_DEATH(tree_height(0), "check failed");
  EXPECT_DEATH(tree_height((1u << 20) + 1), "check failed");
}

// Every leaf once, from left to right.
void expect_exact_cover(unsigned height, std::uint32_t begin, std::uint32_t end,
                        const std::vector<NodeId>& nodes) {
  std::uint32_t next = begin;
  for (const NodeId node : nodes) {
    const LeafInterval leaves = leaves_below(height, node);
    EXPECT_EQ(leaves.begin, next);
    EXPECT_GT(leaves.end, leaves.begin);
    next = leaves.end;
  }
  EXPECT_EQ(next, end);
}

// No two neighbors of a least cover are children of one parent.
void expect_least_cover(const std::vector<NodeId>& nodes) {
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    EXPECT_FALSE(nodes[i - 1] % 2 == 0 && nodes[i] == nodes[i - 1] + 1) << nodes[i];
  }
}

TEST(CanonicalTree, CoverIsExactAndLeast) {
  for (std::uint32_t shards = 1; shards <= kShardsMax; ++shards) {
    const unsigned height = tree_height(shards);
    for (std::uint32_t begin = 0; begin <= shards; ++begin) {
      for (std::uint32_t end = begin; end <= shards; ++end) {
        const auto nodes = cover(height, begin, end);
        expect_exact_cover(height, begin, end, nodes);
        expect_least_cover(nodes);
        EXPECT_LE(nodes.size(), std::max<std::size_t>(2 * height, 1));
      }
    }
  }
}

TEST(CanonicalTree, AlignedIntervalIsOneNode) {
  for (std::uint32_t width = 1; width <= 32; width *= 2) {
    for (std::uint32_t begin = 0; begin < 32; begin += width) {
      EXPECT_EQ(cover(5, begin, begin + width).size(), 1u) << begin << ' ' << width;
    }
  }
}

struct Case {
  unsigned height = 0;
  std::vector<Values> leaves;
  std::vector<NodeId> nodes;
  std::vector<std::vector<float>> sums;  // of `nodes`
};

// Cuts the shards into random intervals, covers each, and sums each node by the oracle.
Case random_case(std::uint32_t shards, std::size_t count, std::uint64_t present_in_hundred,
                 RandomValues& random) {
  Case result;
  result.height = tree_height(shards);
  for (std::uint32_t s = 0; s < shards; ++s) {
    result.leaves.push_back(random.chance(present_in_hundred) ? Values(random.values(count)) : std::nullopt);
  }
  const auto parts = static_cast<std::uint32_t>(1 + random.below(shards));
  std::uint32_t begin = 0;
  for (const std::uint32_t size : random.split(shards, parts)) {
    for (const NodeId node : cover(result.height, begin, begin + size)) {
      const LeafInterval below = leaves_below(result.height, node);
      const Values sum = oracle::sum_below(result.leaves, below.begin, below.end - below.begin);
      if (!sum) continue;
      result.nodes.insert(result.nodes.begin() + static_cast<long>(random.below(result.nodes.size() + 1)),
                          node);
    }
    begin += size;
  }
  for (const NodeId node : result.nodes) {
    const LeafInterval below = leaves_below(result.height, node);
    result.sums.push_back(*oracle::sum_below(result.leaves, below.begin, below.end - below.begin));
  }
  return result;
}

std::vector<float> run_program(const Case& one, const FoldProgram& program, std::size_t count,
                               float divisor) {
  std::vector<const float*> operands;
  for (const auto& sum : one.sums) operands.push_back(sum.data());
  std::vector<float> out(count, 12345.0f);
  fold(program, operands, count, divisor, out.data());
  return out;
}

TEST(CanonicalTree, FoldGivesTheOraclesBitsForAnyPartition) {
  RandomValues random(1);
  for (std::uint32_t shards = 1; shards <= kShardsMax; ++shards) {
    for (int turn = 0; turn < 20; ++turn) {
      const std::size_t count = 1 + random.below(40);
      const Case one = random_case(shards, count, turn % 2 == 0 ? 100 : 60, random);
      const FoldProgram program = fold_program(one.height, one.nodes);
      EXPECT_LE(program.depth, one.height + 1u);
      const auto divisor = static_cast<float>(1 + random.below(1000));
      const Values expected = oracle::mean(one.leaves, divisor);
      if (!expected) {
        EXPECT_TRUE(program.code.empty());
        continue;
      }
      const auto out = run_program(one, program, count, divisor);
      ASSERT_TRUE(oracle::same_bits(out.data(), expected->data(), count)) << shards << " shards";
    }
  }
}

// Else the tests here would not see a wrong order.
TEST(CanonicalTree, OrderShowsInTheBitsOfTheTestsNumbers) {
  RandomValues random(9);
  std::vector<Values> leaves;
  for (int s = 0; s < 5; ++s) leaves.emplace_back(random.values(200));
  std::vector<float> chain = *leaves[0];
  for (std::size_t s = 1; s < 5; ++s) {
    for (std::size_t i = 0; i < chain.size(); ++i) chain[i] += (*leaves[s])[i];
  }
  EXPECT_FALSE(oracle::same_bits(chain.data(), oracle::root_sum(leaves)->data(), chain.size()));
}

TEST(CanonicalTree, FoldIsTheSameAcrossBlockBorders) {
  RandomValues random(2);
  for (const std::size_t count : {2047u, 2048u, 2049u, 6000u}) {
    const Case one = random_case(5, count, 100, random);
    const auto out = run_program(one, fold_program(one.height, one.nodes), count, 3.0f);
    EXPECT_TRUE(oracle::same_bits(out.data(), oracle::mean(one.leaves, 3.0f)->data(), count)) << count;
  }
}

TEST(CanonicalTree, AbsentSiblingAddsNoZero) {
  const float minus_zero = -0.0f;
  const NodeId leaf = leaf_node(3, 5);
  const FoldProgram program = fold_program(3, std::span(&leaf, 1));
  const float* operand = &minus_zero;
  float out = 1;
  fold(program, std::span(&operand, 1), 1, 1.0f, &out);
  EXPECT_TRUE(oracle::same_bits(&out, &minus_zero, 1)) << "-0 became " << out;
}

TEST(CanonicalTree, NothingPresentWritesNothing) {
  const FoldProgram program = fold_program(4, {});
  float out = 7;
  fold(program, {}, 1, 1.0f, &out);
  EXPECT_EQ(out, 7.0f);
}

TEST(CanonicalTree, OverlappingNodesAreABug) {
  const std::vector<NodeId> nodes{2, 4};  // 4 is below 2
  EXPECT_DEATH(fold_program(3, nodes), "check failed");
}

// A power of two is multiplied with its reciprocal.
TEST(CanonicalTree, WhateverTheDivisorTheBitsAreThoseOfADivision) {
  const NodeId leaf = leaf_node(3, 5);
  const FoldProgram program = fold_program(3, std::span(&leaf, 1));
  std::mt19937 random(5);
  std::vector<float> values;
  for (int i = 0; i < 20000; ++i)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  for (const float special : {0.0f, -0.0f, INFINITY, -INFINITY, 1e-45f, 3e-39f, FLT_MIN, FLT_MAX})
    values.push_back(special);
  const float* operand = values.data();
  std::vector<float> out(values.size());
  for (const float divisor :
       {1.0f, 2.0f, 128.0f, 0.25f, 3.0f, 0x1p100f, 0x1p127f, 0x1p-126f, 0x1p-149f, 1e-40f, 65536.5f}) {
    fold(program, std::span(&operand, 1), values.size(), divisor, out.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float expected = values[i] / divisor;
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(out[i])) << values[i] << " / " << divisor;
      } else {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(out[i]), std::bit_cast<std::uint32_t>(expected))
            << values[i] << " / " << divisor;
      }
    }
  }
}

}  // namespace
