#include "actors/replica/states/step/batch_gathering.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

Item item_of(std::uint32_t shard, const Cursor& cursor, bool ended = false) {
  return Item{cursor, shard, ended, {}, ended ? nullptr : std::make_shared<const Batch>()};
}

TEST(BatchGathering, IsCompleteWhenEachShardHasItsItem) {
  BatchGathering batches;
  batches.enter(4, 6);
  const Cursor cursor{Mode::train, 1, 3};
  batches.begin(cursor);
  EXPECT_EQ(batches.cursor(), cursor);
  EXPECT_FALSE(batches.complete());
  batches.take(item_of(5, cursor));
  EXPECT_FALSE(batches.complete());
  batches.take(item_of(4, cursor));
  EXPECT_TRUE(batches.complete());
  ASSERT_EQ(batches.items().size(), 2u);
  EXPECT_EQ(batches.items()[0].shard, 4u) << "ascending by shard, in whatever order they arrive";
  EXPECT_EQ(batches.of(5).shard, 5u);
}

TEST(BatchGathering, HoldsTheShardsOfItsView) {
  BatchGathering batches;
  EXPECT_FALSE(batches.holds(0));
  batches.enter(4, 6);
  EXPECT_FALSE(batches.holds(3));
  EXPECT_TRUE(batches.holds(4));
  EXPECT_TRUE(batches.holds(5));
  EXPECT_FALSE(batches.holds(6));
  batches.enter(7, 7);
  EXPECT_FALSE(batches.holds(7));
}

TEST(BatchGathering, AReplicaWithoutShardsIsCompleteAtOnce) {
  BatchGathering batches;
  batches.enter(2, 2);
  batches.begin({});
  EXPECT_TRUE(batches.complete());
}

TEST(BatchGathering, ASkippedShardCountsAsEnded) {
  BatchGathering batches;
  batches.enter(0, 2);
  const Cursor cursor{Mode::train, 2, 0};
  batches.begin(cursor);
  batches.skip(1);
  EXPECT_TRUE(batches.of(1).ended);
  EXPECT_EQ(batches.of(1).cursor, cursor);
  batches.take(item_of(0, cursor));
  EXPECT_TRUE(batches.complete());
  EXPECT_FALSE(batches.all_ended());
  batches.begin(cursor);
  EXPECT_FALSE(batches.complete()) << "a new step begins with nothing";
  batches.skip(0);
  batches.skip(1);
  EXPECT_TRUE(batches.all_ended());
}

}  // namespace
}  // namespace muster
