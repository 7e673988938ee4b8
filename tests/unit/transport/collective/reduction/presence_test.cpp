#include "transport/collective/reduction/presence.hpp"

#include <gtest/gtest.h>

namespace {

using namespace muster;

std::vector<Kept<RoundHeader>> headers(const std::vector<std::vector<ShardReport>>& reports) {
  std::vector<Kept<RoundHeader>> all(reports.size());
  for (std::size_t member = 0; member < reports.size(); ++member) {
    RoundHeader header;
    header.shards = reports[member];
    all[member] = header;
  }
  return all;
}

ShardReport with_samples(std::uint32_t shard, double weight) {
  return {shard, 0, 4, 0, 0, 4, weight};
}

ShardReport ended(std::uint32_t shard) {
  return {shard, 1, 0, 0, 0, 0, 0};
}

TEST(Presence, SaysWhichShardsAreLeavesAndWhatTheDivisorIs) {
  Presence presence;
  presence.read(headers({{with_samples(0, 4), ended(1)}, {with_samples(2, 2.5)}}), 3, true);
  EXPECT_TRUE(presence.any);
  EXPECT_EQ(presence.shards, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(presence.weight, 6.5);
}

// 0.1 + 0.2 + 0.3 depends on the order: 0.3 + 0.2 + 0.1 is another number.
TEST(Presence, AddsWeightsInTheOrderOfShardsWhoeverHasThem) {
  Presence one, other;
  one.read(headers({{with_samples(0, 0.1), with_samples(1, 0.2)}, {with_samples(2, 0.3)}}), 3, true);
  other.read(headers({{with_samples(2, 0.3)}, {with_samples(1, 0.2)}, {with_samples(0, 0.1)}}), 3, true);
  EXPECT_EQ(one.weight, 0.1 + 0.2 + 0.3);
  EXPECT_EQ(other.weight, 0.1 + 0.2 + 0.3);
  EXPECT_NE(one.weight, 0.3 + 0.2 + 0.1);
}

TEST(Presence, HasNoWeightWhereTheRoundHasNoSums) {
  Presence presence;
  presence.read(headers({{with_samples(0, 4)}}), 1, false);
  EXPECT_TRUE(presence.any);
  EXPECT_EQ(presence.weight, 0);
}

TEST(Presence, IsNoneWhereAllShardsHaveEnded) {
  Presence presence;
  presence.read(headers({{ended(0)}, {ended(1)}}), 2, true);
  EXPECT_FALSE(presence.any);
  EXPECT_EQ(presence.weight, 0);
}

TEST(Presence, LeavesOutAShardThatTheViewDoesNotHave) {
  Presence presence;
  presence.read(headers({{with_samples(0, 4), with_samples(7, 4)}}), 2, true);
  EXPECT_EQ(presence.shards, (std::vector<bool>{true, false}));
  EXPECT_EQ(presence.weight, 4);
}

TEST(Presence, BeginsTheNextRoundWithNothing) {
  Presence presence;
  presence.read(headers({{with_samples(0, 4)}}), 1, true);
  presence.reset();
  EXPECT_FALSE(presence.any);
  EXPECT_TRUE(presence.shards.empty());
  EXPECT_EQ(presence.weight, 0);
  presence.read(headers({{with_samples(0, 4)}}), 1, true);
  EXPECT_EQ(presence.weight, 4);
}

}  // namespace
