#include "actors/replica/states/step/two_sums.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

ShardReport report_of(std::uint32_t shard, std::uint32_t rows) {
  ShardReport report;
  report.shard = shard;
  report.rows = rows;
  return report;
}

ShardMetrics metrics_of(std::uint32_t shard, double loss) {
  ShardMetrics metrics;
  metrics.shard = shard;
  metrics.loss = loss;
  return metrics;
}

TEST(TwoSums, WhatTheFirstSumSaidGoesWithTheSecond) {
  TwoSums sums;
  sums.begin(true, {report_of(3, 8)});
  EXPECT_TRUE(sums.in_first());
  sums.first_computed({metrics_of(3, 1.5)});
  sums.first_reduced();
  EXPECT_FALSE(sums.in_first());
  EXPECT_TRUE(sums.any_present());
  ASSERT_EQ(sums.shards().size(), 1u);
  EXPECT_EQ(sums.shards()[0].shard, 3u);
  ASSERT_EQ(sums.metrics().size(), 1u);
  EXPECT_EQ(sums.metrics()[0].loss, 1.5);
}

TEST(TwoSums, AStepBeginsWithoutTheLossesOfTheOneBefore) {
  TwoSums sums;
  sums.begin(true, {report_of(3, 8)});
  sums.first_computed({metrics_of(3, 1.5)});
  sums.begin(true, {report_of(3, 0)});
  EXPECT_TRUE(sums.metrics().empty());
  EXPECT_FALSE(sums.any_present()) << "no rows";
}

TEST(TwoSums, AStepOfOneSumHasNoFirst) {
  TwoSums sums;
  sums.begin(true, {report_of(3, 8)});
  sums.first_computed({metrics_of(3, 1.5)});
  sums.begin(false, {report_of(3, 8)});
  EXPECT_TRUE(sums.metrics().empty());
  EXPECT_FALSE(sums.in_first());
  EXPECT_FALSE(sums.any_present());
}

}  // namespace
}  // namespace muster
