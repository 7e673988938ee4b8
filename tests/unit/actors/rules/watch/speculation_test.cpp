#include <gtest/gtest.h>

#include <set>

#include "actors/rules/watch/speculation.hpp"

namespace muster {
namespace {

using Errands = std::vector<Errand>;

TEST(DealErrands, AnAlignedIntervalIsOneErrandForTheFastestHelper) {
  EXPECT_EQ(deal_errands(8, {{2, 4, 6}}, {{0, 0.2}, {1, 0.1}, {3, 0.3}}), (Errands{{1, 2, 6, 4, 6}}));
  EXPECT_EQ(deal_errands(8, {{2, 4, 6}}, {{3, 0.1}, {0, 0.1}}), (Errands{{0, 2, 6, 4, 6}}))
      << "the lower slot";
}

TEST(DealErrands, NobodyHelpsWhereNobodyIsIdle) {
  EXPECT_TRUE(deal_errands(8, {{2, 4, 6}}, {}).empty());
  EXPECT_TRUE(deal_errands(8, {{2, 4, 6}}, {{2, 0.1}}).empty()) << "who is late is no helper";
  EXPECT_TRUE(deal_errands(8, {}, {{1, 0.1}}).empty());
}

TEST(DealErrands, SeveralNodesGoToSeveralHelpersTheLargestFirst) {
  // [1, 7) of 8: nodes of 2, 2, 1 and 1 shards.
  const auto errands = deal_errands(8, {{2, 1, 7}}, {{0, 1}, {1, 1}});
  EXPECT_EQ(errands, (Errands{{0, 2, 5, 2, 4}, {1, 2, 6, 4, 6}, {0, 2, 9, 1, 2}, {1, 2, 14, 6, 7}}));
}

TEST(DealErrands, ASlowHelperGetsWhatItIsThroughWithInTime) {
  const auto errands = deal_errands(8, {{2, 1, 7}}, {{0, 1}, {1, 10}});
  for (const Errand& errand : errands) EXPECT_EQ(errand.helper, 0u);
  EXPECT_EQ(errands.size(), 4u);
}

TEST(DealErrands, UnknownSpeedsAreTakenForTheSlowest) {
  EXPECT_EQ(deal_errands(4, {{2, 2, 3}}, {{0, 0}, {1, 0.5}, {3, 0.4}}).at(0).helper, 3u);
  EXPECT_EQ(deal_errands(4, {{2, 2, 3}}, {{0, 0}, {1, 0}}).at(0).helper, 0u);
}

TEST(DealErrands, EveryLateShardIsInExactlyOneErrand) {
  std::multiset<std::uint32_t> covered;
  for (const Errand& errand : deal_errands(13, {{0, 0, 5}, {2, 9, 13}}, {{1, 1}, {3, 2}})) {
    EXPECT_TRUE(errand.helper == 1 || errand.helper == 3);
    EXPECT_EQ(errand.instead_of, errand.begin < 5 ? 0u : 2u);
    for (std::uint32_t shard = errand.begin; shard < errand.end; ++shard) covered.insert(shard);
  }
  EXPECT_EQ(covered, (std::multiset<std::uint32_t>{0, 1, 2, 3, 4, 9, 10, 11, 12}));
}

}  // namespace
}  // namespace muster
