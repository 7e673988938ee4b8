// Members with other bits, as the reports of one round show them.
#include <gtest/gtest.h>

#include <algorithm>

#include "transport/collective/rounds/round_check.hpp"

namespace muster {
namespace {

using Headers = std::vector<Kept<RoundHeader>>;
using Opinions = std::vector<Unlike::Opinion>;

const std::vector<PeerId> kPeers{4, 7, 9};

Headers headers(const std::vector<WeightsHash>& weights) {
  Headers all(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    RoundHeader header;
    header.record_hash = 5;
    header.weights = weights[i];
    all[i] = header;
  }
  return all;
}

TEST(RoundCheck, MembersAtOnePlaceDoNotDisagree) {
  EXPECT_EQ(disagreement(headers({{3, 1, 8}, {3, 1, 6}, {}}), kPeers, 0), "")
      << "their bits are another matter";
}

TEST(RoundCheck, SaysWhichMemberIsNotWhereThisOneIs) {
  const auto moved = [](auto change) {
    Headers all = headers({{}, {}, {}});
    RoundHeader other = *all[2];
    change(other);
    all[2] = other;
    return disagreement(all, kPeers, 1);
  };
  EXPECT_EQ(moved([](RoundHeader& other) { other.epoch = 2, other.step = 5; }),
            "diverged: replica 9 is at epoch 2 step 5, replica 7 at epoch 0 step 0");
  EXPECT_NE(moved([](RoundHeader& other) { other.step = 1; }), "");
  EXPECT_NE(moved([](RoundHeader& other) { other.applied = 1; }), "");
  EXPECT_NE(moved([](RoundHeader& other) { other.kind = RoundKind::evaluate; }), "");
}

TEST(RoundCheck, AlikeWeightsAreNothingToTell) {
  EXPECT_FALSE(unlike_headers(headers({{3, 1, 8}, {3, 1, 8}, {3, 1, 8}}), kPeers));
}

TEST(RoundCheck, SaysWhoHoldsWhichWeights) {
  const auto found = unlike_headers(headers({{3, 1, 8}, {3, 1, 6}, {3, 1, 8}}), kPeers);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bits, Bits::weights);
  EXPECT_EQ(found->step, 3u);
  EXPECT_EQ(found->opinions, (Opinions{{4, 0}, {7, 1}, {9, 0}}));
  EXPECT_EQ(found->text(), "the weights after step 3 differ: replica 4 (a), replica 7 (b), replica 9 (a)");
}

TEST(RoundCheck, OtherBlocksAreNotCompared) {
  EXPECT_FALSE(unlike_headers(headers({{3, 1, 8}, {3, 2, 6}, {2, 1, 5}}), kPeers));
  EXPECT_FALSE(unlike_headers(headers({{}, {}, {}}), kPeers));
  EXPECT_TRUE(unlike_headers(headers({{}, {3, 1, 8}, {3, 1, 6}}), kPeers));
}

TEST(RoundCheck, RecordsGoBeforeWeights) {
  Headers all = headers({{3, 1, 8}, {3, 1, 6}, {3, 1, 8}});
  RoundHeader other = *all[2];
  other.record_hash = 6;
  all[2] = other;
  const auto found = unlike_headers(all, kPeers);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bits, Bits::record);
  EXPECT_EQ(found->opinions, (Opinions{{4, 0}, {7, 0}, {9, 1}}));
}

TEST(RoundCheck, AnAuditComparesTwo) {
  EXPECT_FALSE(unlike_gradients({{{2, 0, 8}}, {{2, 0, 8}}, {}}, kPeers, 5));
  const auto found = unlike_gradients({{{2, 0, 8}}, {{2, 0, 6}}, {}}, kPeers, 5);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->shards, std::vector<std::uint32_t>{2});
  EXPECT_EQ(found->opinions.size(), 2u);
}

TEST(RoundCheck, RoundTheViewThoseWhoAgreeAreOneGroup) {
  // 0 is audited by 1, 1 by 2, 2 by 0; member 1 computes other bits.
  const auto found =
      unlike_gradients({{{0, 0, 5}, {2, 0, 7}}, {{1, 0, 61}, {0, 0, 51}}, {{2, 0, 7}, {1, 0, 6}}}, kPeers, 1);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->opinions.size(), 3u);
  EXPECT_EQ(found->opinions[0].group, found->opinions[2].group);
  EXPECT_NE(found->opinions[0].group, found->opinions[1].group);
}

TEST(RoundCheck, WhoWasComparedWithTheWrongOneAloneIsNotBlamed) {
  // The shard of the last one has no samples: 0 and 1 agree, 2 differs from 1, 3 from 2.
  const std::vector<PeerId> peers{0, 1, 2, 3};
  const auto found = unlike_gradients(
      {{{0, 0, 5}}, {{0, 0, 5}, {1, 0, 6}}, {{1, 0, 61}, {2, 0, 71}}, {{2, 0, 7}}}, peers, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->opinions, (Opinions{{0, found->opinions[0].group},
                                       {1, found->opinions[0].group},
                                       {2, found->opinions[2].group}}));
}

TEST(RoundCheck, OneShardThatThreeComputeTellsWhoIsWrong) {
  for (std::size_t wrong = 0; wrong < 3; ++wrong) {
    std::vector<std::vector<AuditReport>> audits{{{0, 0, 5}}, {{0, 0, 5}}, {{0, 0, 5}}};
    audits[wrong].front().hash = 51;
    const auto found = unlike_gradients(audits, kPeers, 1);
    ASSERT_TRUE(found);
    ASSERT_EQ(found->opinions.size(), 3u);
    EXPECT_EQ(found->shards, std::vector<std::uint32_t>{0});
    for (std::size_t one = 0; one < 3; ++one) {
      const auto alike =
          std::ranges::count(found->opinions, found->opinions[one].group, &Unlike::Opinion::group);
      EXPECT_EQ(alike, one == wrong ? 1 : 2);
    }
  }
}

// Each shard is computed by its owner and the next two. Member 0 is wrong on its own, and right on another's.
TEST(RoundCheck, WhoIsWrongAtTimesIsTheOnlyOneAgainstAll) {
  const std::vector<PeerId> peers{0, 1, 2, 3};
  const auto found = unlike_gradients({{{0, 0, 51}, {2, 0, 7}, {3, 0, 8}},
                                       {{0, 0, 5}, {1, 0, 6}, {3, 0, 8}},
                                       {{0, 0, 5}, {1, 0, 6}, {2, 0, 7}},
                                       {{1, 0, 6}, {2, 0, 7}, {3, 0, 8}}},
                                      peers, 1);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->opinions.size(), 4u);
  for (std::size_t other : {2u, 3u}) EXPECT_EQ(found->opinions[1].group, found->opinions[other].group);
  EXPECT_NE(found->opinions[0].group, found->opinions[1].group);
}

TEST(RoundCheck, TwoThatDifferAreNoGroupAlthoughBothAgreeWithAThird) {
  const auto found =
      unlike_gradients({{{0, 0, 5}, {2, 0, 7}}, {{1, 0, 6}, {0, 0, 51}}, {{2, 0, 7}, {1, 0, 6}}}, kPeers, 1);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->opinions.size(), 2u) << "either of them may be wrong";
  EXPECT_NE(found->opinions[0].group, found->opinions[1].group);
}

TEST(RoundCheck, TwoThatDifferAreNamedAlthoughOthersAgree) {
  const std::vector<PeerId> peers{0, 1, 2, 3};
  const auto found = unlike_gradients({{{0, 0, 5}}, {{0, 0, 5}}, {{2, 0, 7}}, {{2, 0, 71}}}, peers, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->opinions, (Opinions{{2, 2}, {3, 3}}));
}

TEST(RoundCheck, AuditReportsStandBehindTheLosses) {
  std::vector<std::byte> bytes(sizeof(ShardMetrics));
  const std::vector<AuditReport> reports{{1, 0, 2}, {3, 0, 4}};
  append_audits(reports, bytes);
  std::span<const std::byte> left = bytes;
  std::vector<AuditReport> taken;
  EXPECT_TRUE(take_audits(left, 2, taken));
  EXPECT_EQ(taken, reports);
  EXPECT_EQ(left.size(), sizeof(ShardMetrics));
  left = bytes;
  EXPECT_FALSE(take_audits(left, 4, taken)) << "more than a member has to say";
  left = left.first(20);
  EXPECT_FALSE(take_audits(left, 2, taken)) << "more than there is";
}

}  // namespace
}  // namespace muster
