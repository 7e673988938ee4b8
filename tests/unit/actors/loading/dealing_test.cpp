#include "actors/messages/dealing.hpp"

#include <gtest/gtest.h>

#include <set>

#include "actors/pipeline/cut.hpp"

namespace muster {
namespace {

/// Walks a whole epoch and checks it against the definition, sample by sample.
void expect_dealt(const Dealing& dealing) {
  SCOPED_TRACE(::testing::Message() << dealing.samples << " samples, " << dealing.shards << " shards, batch "
                                    << dealing.batch << ", remainder "
                                    << static_cast<int>(dealing.remainder));
  std::set<std::uint64_t> used;
  const std::uint64_t steps = dealing.steps_per_epoch();
  for (std::uint64_t step = 0; step < steps; ++step) {
    std::uint64_t weight = 0;
    for (std::uint32_t shard = 0; shard < dealing.shards; ++shard) {
      const auto range = dealing.range(shard, step);
      if (!range) continue;
      ASSERT_GT(range->count, 0u);
      ASSERT_LE(range->count, dealing.batch);
      ASSERT_EQ(range->first, step * dealing.batch);
      if (dealing.remainder == Remainder::drop) {
        ASSERT_EQ(range->count, dealing.batch);
      }
      for (std::uint64_t local = range->first; local < range->first + range->count; ++local) {
        const auto position = dealing.position(shard, local);
        ASSERT_EQ(position % dealing.shards, shard);
        ASSERT_EQ(position / dealing.shards, local);
        ASSERT_LT(position, dealing.samples);
        ASSERT_TRUE(used.insert(position).second);
        ++weight;
      }
    }
    ASSERT_GT(weight, 0u) << "a step of weight 0 at " << step;
  }
  for (std::uint32_t shard = 0; shard < dealing.shards; ++shard) EXPECT_FALSE(dealing.range(shard, steps));
  EXPECT_EQ(used.size() + dealing.dropped(), dealing.samples);
}

TEST(Dealing, UsesEverySampleOnce) {
  for (std::uint64_t samples = 0; samples <= 40; ++samples) {
    for (std::uint32_t shards = 1; shards <= 6; ++shards) {
      for (std::uint32_t batch = 1; batch <= 5; ++batch) {
        for (const auto remainder : {Remainder::keep, Remainder::drop, Remainder::pad}) {
          expect_dealt({samples, shards, batch, remainder});
        }
      }
    }
  }
}

TEST(Dealing, CountsTheStepsOfTheMainJob) {
  const Dealing keep{60'000, 8, 16, Remainder::keep};
  EXPECT_EQ(keep.steps_per_epoch(), 469u);
  EXPECT_EQ(keep.shard_size(0), 7'500u);
  EXPECT_EQ(*keep.range(3, 468), (Range{7'488, 12}));
  EXPECT_EQ(keep.dropped(), 0u);
  const Dealing drop{60'000, 8, 16, Remainder::drop};
  EXPECT_EQ(drop.steps_per_epoch(), 468u);
  EXPECT_EQ(drop.dropped(), 96u);
}

TEST(Dealing, LetsShardsEndOneStepApart) {
  const Dealing dealing{7, 2, 1, Remainder::keep};
  EXPECT_EQ(dealing.steps_per_epoch(), 4u);
  EXPECT_TRUE(dealing.range(0, 3));
  EXPECT_FALSE(dealing.range(1, 3));
}

TEST(Dealing, HoldsForHugeNumbers) {
  const Dealing dealing{std::uint64_t{1} << 62, 0xffffffffu, 0xffffffffu, Remainder::keep};
  EXPECT_EQ(dealing.steps_per_epoch(), 1u);
  EXPECT_FALSE(dealing.range(5, ~std::uint64_t{0}));
  const Dealing fine{std::uint64_t{1} << 62, 1, 1, Remainder::drop};
  EXPECT_EQ(fine.steps_per_epoch(), std::uint64_t{1} << 62);
}

TEST(Cut, SkipsThenTakes) {
  EXPECT_EQ(cut_source(100, 0, std::nullopt), (Cut{0, 100, 100, 100, false}));
  EXPECT_EQ(cut_source(100, 10, std::nullopt), (Cut{10, 90, 90, 90, false}));
  EXPECT_EQ(cut_source(100, 10, 20), (Cut{10, 20, 20, 90, false}));
  EXPECT_EQ(cut_source(100, 10, 90), (Cut{10, 90, 90, 90, false}));
}

TEST(Cut, TellsWhatWasAskedAndWhatThereWas) {
  EXPECT_EQ(cut_source(100, 10, 91), (Cut{10, 90, 91, 90, true}));
  EXPECT_EQ(cut_source(100, 1000, 1), (Cut{100, 0, 1, 0, true}));
  EXPECT_EQ(cut_source(0, 0, std::nullopt), (Cut{0, 0, 0, 0, false}));
  EXPECT_EQ(cut_source(100, ~std::uint64_t{0}, ~std::uint64_t{0}), (Cut{100, 0, ~std::uint64_t{0}, 0, true}));
}

}  // namespace
}  // namespace muster
