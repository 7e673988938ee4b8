#include <gtest/gtest.h>

#include <random>

#include "actors/rules/stragglers/shedding.hpp"

namespace muster {
namespace {

std::vector<std::uint32_t> counts(const std::vector<ShardInterval>& deal) {
  std::vector<std::uint32_t> all;
  std::uint32_t end = 0;
  for (const ShardInterval& interval : deal) {
    EXPECT_EQ(interval.begin, end) << "contiguous, in order";
    end = interval.end;
    all.push_back(interval.end - interval.begin);
  }
  return all;
}
using Counts = std::vector<std::uint32_t>;

TEST(DealBySpeed, EqualReplicasGetEqualParts) {
  EXPECT_EQ(counts(deal_by_speed(8, {1, 1, 1, 1})), (Counts{2, 2, 2, 2}));
  EXPECT_EQ(counts(deal_by_speed(7, {1, 1, 1})), (Counts{3, 2, 2}));
  EXPECT_EQ(counts(deal_by_speed(5, {2})), Counts{5});
}

TEST(DealBySpeed, ASlowOneGetsLessButNotNothing) {
  EXPECT_EQ(counts(deal_by_speed(8, {1, 1, 3, 1})), (Counts{3, 2, 1, 2}));
  EXPECT_EQ(counts(deal_by_speed(8, {1, 1000})), (Counts{7, 1}));
  EXPECT_EQ(counts(deal_by_speed(2, {1, 1, 1})), (Counts{1, 1, 0})) << "more replicas than shards";
}

TEST(DealBySpeed, UnknownTimesCountAsTheMedian) {
  EXPECT_EQ(counts(deal_by_speed(6, {0, 0})), (Counts{3, 3}));
  EXPECT_EQ(counts(deal_by_speed(8, {1, 0, 3, 1})), (Counts{3, 2, 1, 2}));
}

// The least slowest time over all numbers of shards, the plain way.
double least_slowest(std::uint32_t shards, const std::vector<double>& seconds, std::size_t from = 0) {
  if (from + 1 == seconds.size()) return shards * seconds[from];
  double best = 1e300;
  const auto others = static_cast<std::uint32_t>(seconds.size() - from - 1);
  for (std::uint32_t mine = 1; mine + others <= shards; ++mine) {
    best = std::min(best, std::max(mine * seconds[from], least_slowest(shards - mine, seconds, from + 1)));
  }
  return best;
}

TEST(DealBySpeed, NoOtherDealHasAFasterSlowestReplica) {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    std::vector<double> seconds(1 + random() % 4);
    for (double& each : seconds) each = 0.5 + static_cast<double>(random() % 100) / 10;
    const auto shards = static_cast<std::uint32_t>(seconds.size() + random() % 9);
    const auto deal = deal_by_speed(shards, seconds);
    ASSERT_DOUBLE_EQ(slowest_seconds(deal, seconds), least_slowest(shards, seconds)) << "round " << round;
    ASSERT_EQ(deal.back().end, shards);
  }
}

// Two replicas with four shards each; seconds of their parts at one step.
std::optional<Shedding::Move> step(Shedding& shedding, std::uint64_t number, double first, double second) {
  shedding.measured(3, number, first);
  EXPECT_FALSE(shedding.decide()) << "not all have told of step " << number;
  shedding.measured(5, number, second);
  return shedding.decide();
}

Shedding two_by_four() {
  Shedding shedding;
  shedding.entered({3, 5}, {{0, 4}, {4, 8}});
  return shedding;
}

TEST(Shedding, MovesAfterEnoughSlowStepsInARowAndSaysWhy) {
  Shedding shedding = two_by_four();
  for (std::uint64_t number = 1; number < 5; ++number) EXPECT_FALSE(step(shedding, number, 0.4, 1.2));
  const auto move = step(shedding, 5, 0.4, 1.2);
  ASSERT_TRUE(move);
  EXPECT_EQ(counts(move->deal), (Counts{6, 2}));
  EXPECT_EQ(
      move->reason,
      "replica 5 takes 300 ms a shard; the slowest replica's part of a step falls from 1200 ms to 600 ms");
}

TEST(Shedding, OneSlowStepIsNoReason) {
  Shedding shedding = two_by_four();
  for (std::uint64_t number = 1; number < 60; ++number) {
    EXPECT_FALSE(step(shedding, number, 0.4, number % 7 == 0 ? 4.0 : 0.4)) << number;
  }
}

TEST(Shedding, ASmallGainIsNoReason) {
  Shedding shedding = two_by_four();
  for (std::uint64_t number = 1; number < 60; ++number) EXPECT_FALSE(step(shedding, number, 0.4, 0.45));
}

TEST(Shedding, ANewViewBeginsToCountAgainAndDoesNotSwing) {
  Shedding shedding = two_by_four();
  std::optional<Shedding::Move> move;
  std::uint64_t number = 0;
  while (!move && number < 20) move = step(shedding, ++number, 0.4, 1.2);
  ASSERT_TRUE(move);
  shedding.entered({3, 5}, move->deal);
  for (int i = 0; i < 40; ++i)
    EXPECT_FALSE(step(shedding, ++number, 0.6, 0.6)) << "the same speeds, another deal";
  // The slow one recovers: its two shards take a third of the time now.
  move.reset();
  for (int i = 0; i < 40 && !move; ++i) move = step(shedding, ++number, 0.6, 0.2);
  ASSERT_TRUE(move);
  EXPECT_GT(move->deal[1].end - move->deal[1].begin, 2u);
}

TEST(Shedding, WhereTimesAreNoiseShardsMoveEverMoreRarely) {
  Shedding shedding = two_by_four();
  std::vector<std::uint64_t> moves;
  std::vector<ShardInterval> deal{{0, 4}, {4, 8}};
  for (std::uint64_t number = 1; number <= 4000; ++number) {
    // Each is the slow one in turn, for as long as it takes to be believed.
    const bool first_slow = moves.size() % 2 == 0;
    const double first = (deal[0].end - deal[0].begin) * (first_slow ? 0.3 : 0.1);
    const double second = (deal[1].end - deal[1].begin) * (first_slow ? 0.1 : 0.3);
    if (const auto move = step(shedding, number, first, second)) {
      moves.push_back(number);
      deal = move->deal;
      shedding.entered({3, 5}, deal);
    }
  }
  EXPECT_GE(moves.size(), 5u) << "it does follow";
  EXPECT_LE(moves.size(), 14u);
  ASSERT_GE(moves.size(), 4u);
  EXPECT_GT(moves[3] - moves[2], 30u);
}

TEST(Shedding, ReportsOfOldStepsAndStrangersCountForNothing) {
  Shedding shedding = two_by_four();
  shedding.measured(9, 1, 100);
  for (int i = 0; i < 30; ++i) {
    shedding.measured(3, 1, 0.4);
    shedding.measured(5, 1, 1.2);
    EXPECT_FALSE(shedding.decide()) << "one step, told thirty times";
  }
}

}  // namespace
}  // namespace muster
