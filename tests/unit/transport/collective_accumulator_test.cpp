#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "muster/transport/collective/accumulator.hpp"
#include "tests/support/random_values.hpp"
#include "tests/support/tree_oracle.hpp"

namespace {

using namespace muster;
using oracle::RandomValues;
using oracle::Values;

constexpr std::size_t kElements = 3;

// One step; returns the buffers that were handed out. A skipped leaf's buffer may have been written to.
std::set<const float*> feed(Accumulator& accumulator, const std::vector<Values>& leaves, std::uint32_t begin,
                            std::uint32_t end) {
  std::set<const float*> buffers;
  accumulator.start();
  for (std::uint32_t s = begin; s < end; ++s) {
    if (!leaves[s]) {
      accumulator.skip_leaf();
      continue;
    }
    const auto leaf = accumulator.leaf();
    EXPECT_EQ(leaf.size(), kElements);
    std::copy(leaves[s]->begin(), leaves[s]->end(), leaf.begin());
    buffers.insert(leaf.data());
    accumulator.add_leaf();
  }
  return buffers;
}

void expect_oracle(const Accumulator& accumulator, const std::vector<Values>& leaves, unsigned height) {
  const auto nodes = accumulator.nodes();
  std::size_t at = 0;
  for (const NodeId node : accumulator.cover_nodes()) {
    const LeafInterval below = leaves_below(height, node);
    const Values expected = oracle::sum_below(leaves, below.begin, below.end - below.begin);
    if (!expected) continue;
    ASSERT_LT(at, nodes.size());
    EXPECT_EQ(nodes[at].node, node);
    EXPECT_TRUE(oracle::same_bits(nodes[at].values, expected->data(), kElements)) << "node " << node;
    ++at;
  }
  EXPECT_EQ(at, nodes.size());
}

std::vector<Values> random_leaves(std::uint32_t shards, std::uint64_t present, RandomValues& random) {
  std::vector<Values> leaves;
  for (std::uint32_t s = 0; s < shards; ++s) {
    leaves.push_back(random.chance(present) ? Values(random.values(kElements)) : std::nullopt);
  }
  return leaves;
}

TEST(Accumulator, EveryIntervalGivesTheOraclesSums) {
  RandomValues random(3);
  for (std::uint32_t shards = 1; shards <= 20; ++shards) {
    for (std::uint32_t begin = 0; begin < shards; ++begin) {
      for (std::uint32_t end = begin + 1; end <= shards; ++end) {
        Accumulator accumulator(shards, begin, end, kElements);
        for (const std::uint64_t present : {100, 70, 30, 0}) {
          const auto leaves = random_leaves(shards, present, random);
          feed(accumulator, leaves, begin, end);
          expect_oracle(accumulator, leaves, tree_height(shards));
        }
      }
    }
  }
}

TEST(Accumulator, HoldsNoMoreThanItSays) {
  RandomValues random(4);
  for (std::uint32_t shards = 1; shards <= 20; ++shards) {
    for (std::uint32_t begin = 0; begin < shards; ++begin) {
      for (std::uint32_t end = begin + 1; end <= shards; ++end) {
        const std::size_t bound = Accumulator::bytes_max(shards, begin, end, kElements);
        Accumulator accumulator(shards, begin, end, kElements);
        std::set<const float*> buffers;
        for (const std::uint64_t present : {50, 100, 80, 100}) {
          buffers.merge(feed(accumulator, random_leaves(shards, present, random), begin, end));
        }
        // With every leaf present the bound is met, and later steps take nothing more.
        EXPECT_EQ(buffers.size() * kElements * sizeof(float), bound) << shards << ' ' << begin << ' ' << end;
      }
    }
  }
}

TEST(Accumulator, LeafThatIsWrittenAndThenSkippedLeavesNoTrace) {
  Accumulator accumulator(4, 0, 4, 1);
  accumulator.leaf()[0] = 99;
  accumulator.skip_leaf();
  for (const float value : {1.0f, 2.0f, 3.0f}) {
    accumulator.leaf()[0] = value;
    accumulator.add_leaf();
  }
  ASSERT_EQ(accumulator.nodes().size(), 1u);
  EXPECT_EQ(accumulator.nodes()[0].values[0], 6.0f);
}

TEST(Accumulator, UseOutOfOrderIsABug) {
  Accumulator accumulator(2, 0, 1, 1);
  EXPECT_DEATH(accumulator.add_leaf(), "check failed");  // no leaf was asked for
  EXPECT_DEATH(accumulator.nodes(), "check failed");     // a shard is missing
  accumulator.skip_leaf();
  EXPECT_DEATH(accumulator.skip_leaf(), "check failed");  // one shard too many
}

}  // namespace
