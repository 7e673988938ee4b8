#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/support/random_values.hpp"
#include "tests/support/tree_oracle.hpp"
#include "transport/collective/sums/accumulator.hpp"

namespace {

using namespace muster;
using oracle::RandomValues;
using oracle::Values;

constexpr std::size_t kElements = 3;

// Writes the open leaf: in parts from its end, or as a whole.
void write(Accumulator& accumulator, std::span<float> leaf, const std::vector<float>& values, bool in_parts) {
  for (std::size_t e = leaf.size(); e-- > 0;) {
    leaf[e] = values[e];
    if (in_parts) accumulator.add({e, e + 1});
  }
  accumulator.add_leaf();
}

// One step; returns the buffers that were handed out. Now and then those that have nothing say so before the
// leaf before them is written.
std::set<const float*> feed(Accumulator& accumulator, const std::vector<Values>& leaves, std::uint32_t begin,
                            std::uint32_t end, RandomValues& random) {
  std::set<const float*> buffers;
  accumulator.start();
  for (std::uint32_t s = begin; s < end; ++s) {
    if (!leaves[s]) {
      accumulator.skip_leaf();
      continue;
    }
    const Values& values = leaves[s];
    const auto leaf = accumulator.leaf();
    EXPECT_EQ(leaf.size(), kElements);
    buffers.insert(leaf.data());
    for (const bool early = random.chance(50); early && s + 1 < end && !leaves[s + 1]; ++s)
      accumulator.skip_leaf();
    write(accumulator, leaf, *values, random.chance(50));
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
          feed(accumulator, leaves, begin, end, random);
          expect_oracle(accumulator, leaves, tree_height(shards));
        }
      }
    }
  }
}

TEST(Accumulator, TheWholeSumIsTheOraclesRoot) {
  RandomValues random(5);
  for (std::uint32_t shards = 1; shards <= 40; ++shards) {
    Accumulator accumulator(shards, 0, shards, kElements);
    for (const std::uint64_t present : {100, 70, 30}) {
      auto leaves = random_leaves(shards, present, random);
      if (!oracle::root_sum(leaves)) leaves[shards / 2] = random.values(kElements);
      feed(accumulator, leaves, 0, shards, random);
      const Values expected = oracle::root_sum(leaves);
      for (int again = 0; again < 2; ++again)
        EXPECT_TRUE(oracle::same_bits(accumulator.whole().data(), expected->data(), kElements)) << shards;
    }
    const auto buffers = feed(accumulator, random_leaves(shards, 100, random), 0, shards, random);
    EXPECT_LE(buffers.size() * kElements * sizeof(float),
              Accumulator::bytes_max(shards, 0, shards, kElements));
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
          buffers.merge(feed(accumulator, random_leaves(shards, present, random), begin, end, random));
        }
        // With every leaf present the bound is met, and later steps take nothing more.
        EXPECT_EQ(buffers.size() * kElements * sizeof(float), bound) << shards << ' ' << begin << ' ' << end;
      }
    }
  }
}

TEST(Accumulator, LeafThatIsWrittenAndGivenUpLeavesNoTrace) {
  Accumulator accumulator(4, 0, 4, 1);
  accumulator.leaf()[0] = 99;
  accumulator.start();
  for (const float value : {1.0f, 2.0f, 3.0f}) {
    accumulator.leaf()[0] = value;
    accumulator.add_leaf();
  }
  accumulator.skip_leaf();
  ASSERT_EQ(accumulator.nodes().size(), 1u);
  EXPECT_EQ(accumulator.nodes()[0].values[0], 6.0f);
}

TEST(Accumulator, UseOutOfOrderIsABug) {
  Accumulator accumulator(2, 0, 1, 1);
  EXPECT_DEATH(accumulator.add_leaf(), "check failed");  // no leaf was asked for
  EXPECT_DEATH(accumulator.nodes(), "check failed");     // a shard is missing
  accumulator.skip_leaf();
  EXPECT_DEATH(accumulator.skip_leaf(), "check failed");  // one shard too many
  accumulator.start();
  accumulator.leaf();
  EXPECT_DEATH(accumulator.leaf(), "check failed");  // one is open
}

}  // namespace
