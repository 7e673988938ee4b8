#include "actors/replica/states/step/audit_round.hpp"

#include <gtest/gtest.h>

#include "muster/model.hpp"

namespace muster {
namespace {

constexpr std::uint32_t kSelf = 1;

std::vector<Audit> one_audit(std::vector<std::uint32_t> shards) {
  return {{2, kSelf, std::move(shards)}};
}

Item item_of(std::uint32_t shard, int rows) {
  Item item;
  item.shard = shard;
  item.ended = rows < 0;
  if (item.ended) return item;
  auto batch = std::make_shared<Batch>();
  batch->rows = static_cast<std::uint32_t>(rows);
  item.batch = batch;
  return item;
}

AuditReport report_of(std::uint32_t shard) {
  AuditReport word;
  word.shard = shard;
  return word;
}

TEST(AuditRound, WithoutAuditsTheOwnPartIsComplete) {
  AuditRound round;
  round.begin({}, kSelf);
  EXPECT_FALSE(round.is_open());
  EXPECT_FALSE(round.complete()) << "the own shards are not computed yet";
  round.own_begun();
  round.own_done({{}, {}, {report_of(9)}});
  const auto part = round.complete();
  ASSERT_TRUE(part);
  EXPECT_EQ(part->audits.size(), 1u);
  EXPECT_FALSE(round.complete()) << "once";
}

TEST(AuditRound, AuditsOfOthersAreNotItsOwn) {
  AuditRound round;
  round.begin({{2, 0, {5}}}, kSelf);
  EXPECT_FALSE(round.is_open());
  EXPECT_EQ(round.audits().size(), 1u) << "each member knows all";
}

TEST(AuditRound, TheFirstShardWithSamplesIsAudited) {
  AuditRound round;
  round.begin(one_audit({5, 6, 7}), kSelf);
  EXPECT_EQ(round.next(), 5u);
  EXPECT_TRUE(round.asks_for(5));
  EXPECT_FALSE(round.asks_for(6));
  round.take(item_of(5, -1));
  EXPECT_EQ(round.next(), 6u) << "5 has ended";
  round.take(item_of(6, 4));
  EXPECT_TRUE(round.has_item());
  EXPECT_FALSE(round.start()) << "the own shards come first";
  round.own_begun();
  ASSERT_TRUE(round.start());
  EXPECT_FALSE(round.start()) << "it is under way";
  EXPECT_EQ(round.shard(), 6u);
  round.own_done({});
  EXPECT_FALSE(round.complete()) << "the audit is not done";
  round.computed(report_of(6));
  EXPECT_EQ(round.next(), std::nullopt);
  const auto part = round.complete();
  ASSERT_TRUE(part);
  ASSERT_EQ(part->audits.size(), 1u);
  EXPECT_EQ(part->audits[0].shard, 6u);
}

TEST(AuditRound, WhereNoShardHasSamplesThereIsNothingToAudit) {
  AuditRound round;
  round.begin(one_audit({5}), kSelf);
  round.own_begun();
  round.own_done({});
  EXPECT_FALSE(round.complete());
  round.take(item_of(5, 0));
  EXPECT_EQ(round.next(), std::nullopt);
  EXPECT_TRUE(round.complete());
}

TEST(AuditRound, TwoAuditsComeOneAfterTheOther) {
  AuditRound round;
  round.begin({{2, kSelf, {5}}, {3, kSelf, {8}}}, kSelf);
  round.own_begun();
  round.own_done({});
  for (const std::uint32_t shard : {5u, 8u}) {
    ASSERT_EQ(round.next(), shard);
    round.take(item_of(shard, 1));
    ASSERT_TRUE(round.start());
    round.computed(report_of(shard));
  }
  EXPECT_EQ(round.next(), std::nullopt);
  EXPECT_EQ(round.complete()->audits.size(), 2u);
}

TEST(AuditRound, WhatIsGivenUpIsNotContributed) {
  AuditRound round;
  round.begin(one_audit({5}), kSelf);
  round.own_begun();
  round.own_done({});
  round.take(item_of(5, 1));
  round.give_up();
  EXPECT_FALSE(round.has_item());
  EXPECT_FALSE(round.is_open());
  EXPECT_FALSE(round.complete());
  EXPECT_EQ(round.audits().size(), 1u) << "the record of the round tells what they have shown";
}

}  // namespace
}  // namespace muster
