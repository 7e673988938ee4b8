#include "actors/coordinator/states/epoch_tally.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

EpochEnd row(std::uint64_t epoch, std::uint32_t slot, std::uint64_t steps = 0, std::uint64_t samples = 100) {
  EpochEnd row;
  row.epoch = epoch;
  row.slot = slot;
  row.steps = steps ? steps : 10 * epoch;
  row.samples = samples;
  return row;
}

std::vector<std::uint64_t> counted(const EpochTally& tally) {
  std::vector<std::uint64_t> epochs;
  for (const EpochEnd& each : tally.counted()) epochs.push_back(each.epoch);
  return epochs;
}

using Epochs = std::vector<std::uint64_t>;

TEST(EpochTally, AnEpochThatWasReportedCountsOnce) {
  EpochTally tally;
  EXPECT_FALSE(tally.count(1)) << "nobody has reported it";
  EXPECT_FALSE(tally.take(row(1, 0)));
  EXPECT_EQ(tally.open(), (Epochs{1}));
  EXPECT_FALSE(tally.counts(1));
  const auto first = tally.count(1);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->steps, 10u);
  EXPECT_TRUE(tally.counts(1));
  EXPECT_TRUE(tally.open().empty());
  EXPECT_FALSE(tally.count(1));
}

TEST(EpochTally, ReplicasMustAgree) {
  EpochTally tally;
  EXPECT_FALSE(tally.take(row(1, 3)));
  EXPECT_FALSE(tally.take(row(1, 4)));
  EXPECT_EQ(tally.take(row(1, 5, 10, 99)), 3u);
  EXPECT_FALSE(tally.take(row(2, 5, 10, 99))) << "another epoch";
}

TEST(EpochTally, KnowsWhoHasReported) {
  EpochTally tally;
  tally.take(row(1, 3));
  EXPECT_TRUE(tally.has_reported(1, 3));
  EXPECT_FALSE(tally.has_reported(1, 4));
  EXPECT_FALSE(tally.has_reported(2, 3));
}

TEST(EpochTally, AReplicaThatIsLostHasReportedNothing) {
  EpochTally tally;
  tally.take(row(1, 3));
  tally.take(row(1, 4));
  tally.forget(3);
  EXPECT_FALSE(tally.has_reported(1, 3));
  EXPECT_TRUE(tally.has_reported(1, 4));
  tally.forget(4);
  EXPECT_FALSE(tally.count(1));
}

TEST(EpochTally, RowsAreInOrderOfTheirEpochs) {
  EpochTally tally;
  tally.start_with({row(1, 0)});
  EXPECT_TRUE(tally.counts(1));
  for (const std::uint64_t epoch : {3, 2, 4}) {
    tally.take(row(epoch, 0));
    ASSERT_TRUE(tally.count(epoch));
  }
  EXPECT_EQ(counted(tally), (Epochs{1, 2, 3, 4}));
}

TEST(EpochTally, WhatIsDoneAgainIsReportedAgain) {
  EpochTally tally;
  tally.start_with({row(1, 0), row(2, 0), row(3, 0)});
  tally.take(row(4, 0));
  tally.go_back(20);
  EXPECT_EQ(counted(tally), (Epochs{1, 2}));
  EXPECT_TRUE(tally.open().empty()) << "who reported it may have been wrong";
  EXPECT_FALSE(tally.take(row(3, 0, 30, 99)));
  EXPECT_TRUE(tally.count(3));
}

}  // namespace
}  // namespace muster
