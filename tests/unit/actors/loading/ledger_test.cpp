#include <gtest/gtest.h>

#include "actors/rules/steps/ledger.hpp"
#include "muster/error.hpp"

namespace muster {
namespace {

/// Commits an epoch as it should be.
void commit_all(Ledger& ledger, std::uint64_t epoch, const Dealing& dealing) {
  for (std::uint64_t step = 0; step < dealing.steps_per_epoch(); ++step) {
    for (std::uint32_t shard = 0; shard < dealing.shards; ++shard) {
      if (const auto range = dealing.range(shard, step)) ledger.commit(epoch, shard, *range);
    }
  }
}

TEST(Ledger, CountsACleanEpoch) {
  const Dealing dealing{1237, 5, 16, Remainder::keep};
  Ledger ledger;
  for (std::uint64_t epoch = 1; epoch <= 2; ++epoch) {
    ledger.begin_epoch(epoch, dealing.samples, dealing.shards);
    commit_all(ledger, epoch, dealing);
    EXPECT_EQ(ledger.finish(true, 0), (LedgerRow{epoch, true, 1237, 0, 0, 0}));
  }
  EXPECT_EQ(ledger.rows().size(), 2u);
}

TEST(Ledger, SeesABatchTwiceAndAnotherLost) {
  const Dealing dealing{1237, 5, 16, Remainder::keep};
  Ledger ledger;
  ledger.begin_epoch(1, dealing.samples, dealing.shards);
  for (std::uint64_t step = 0; step < dealing.steps_per_epoch(); ++step) {
    for (std::uint32_t shard = 0; shard < dealing.shards; ++shard) {
      const auto range = dealing.range(shard, step);
      if (!range || (step == 3 && shard == 2)) continue;
      ledger.commit(1, shard, *range);
      if (step == 7 && shard == 4) ledger.commit(1, shard, *range);
    }
  }
  EXPECT_EQ(ledger.finish(true, 0), (LedgerRow{1, true, 1221, 16, 16, 0}));
}

TEST(Ledger, SeesOverlapsSampleBySample) {
  Ledger ledger;
  ledger.begin_epoch(1, 1000, 1);
  ledger.commit(1, 0, {0, 200});
  ledger.commit(1, 0, {63, 2});
  ledger.commit(1, 0, {190, 20});
  ledger.commit(1, 0, {999, 1});
  EXPECT_EQ(ledger.row(true, 0), (LedgerRow{1, true, 211, 12, 789, 0}));
}

TEST(Ledger, DoesNotCallDroppedSamplesMissed) {
  const Dealing dealing{60'000, 8, 16, Remainder::drop};
  Ledger ledger;
  ledger.begin_epoch(1, dealing.samples, dealing.shards);
  commit_all(ledger, 1, dealing);
  EXPECT_EQ(ledger.finish(true, dealing.dropped()), (LedgerRow{1, true, 59'904, 0, 0, 96}));
}

TEST(Ledger, MissesNothingInAnEpochCutShort) {
  Ledger ledger;
  ledger.begin_epoch(4, 100, 2);
  ledger.commit(4, 0, {0, 10});
  EXPECT_EQ(ledger.finish(false, 0), (LedgerRow{4, false, 10, 0, 0, 0}));
}

TEST(Ledger, FindsHolesWhereTheLengthIsUnknown) {
  Ledger ledger;
  ledger.begin_epoch(1, std::nullopt, 3);
  ledger.commit(1, 0, {0, 5});
  ledger.commit(1, 2, {70, 5});
  EXPECT_EQ(ledger.finish(true, 0), (LedgerRow{1, true, 10, 0, 70, 0}));
}

TEST(Ledger, CountsReadyMadeBatches) {
  const Dealing dealing{7, 2, 1, Remainder::keep};
  Ledger ledger;
  ledger.begin_epoch(1, 7, 2);
  commit_all(ledger, 1, dealing);
  EXPECT_EQ(ledger.finish(true, 0).used, 7u);
}

TEST(Ledger, RefusesRangesThatCannotBeAndStaysAsItWas) {
  Ledger ledger;
  EXPECT_THROW(ledger.commit(1, 0, {0, 1}), Error);
  ledger.begin_epoch(1, 10, 2);
  EXPECT_THROW(ledger.commit(2, 0, {0, 1}), Error);
  EXPECT_THROW(ledger.commit(1, 2, {0, 1}), Error);
  EXPECT_THROW(ledger.commit(1, 0, {4, 2}), Error);
  EXPECT_THROW(ledger.commit(1, 0, {~std::uint64_t{0}, 2}), Error);
  EXPECT_EQ(ledger.row(false, 0), (LedgerRow{1, false, 0, 0, 0, 0}));
  ledger.finish(false, 0);
  ledger.begin_epoch(2, std::nullopt, 1);
  EXPECT_THROW(ledger.commit(2, 0, {Ledger::kUnknownShardMax, 1}), Error);
}

}  // namespace
}  // namespace muster
