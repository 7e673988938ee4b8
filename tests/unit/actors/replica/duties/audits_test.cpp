#include "actors/replica/duties/audits.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/replica/duties/duty_context.hpp"

namespace muster::audits_test {
namespace {

using testing::DutyContext;
using testing::item_with_rows;
using testing::last_as;

// Replica 0 is unproven: in the first step replicas 1 and 2 audit it.
class AuditsOfReplicaZero : public ::testing::Test {
 protected:
  AuditsOfReplicaZero() {
    replica_.context.trainer().job.train.audit.every = 1000;
    replica_.view().unproven = {0};
    batches_.enter(2, 4);
    batches_.begin(Cursor{});
    audits_.enter();
    audits_.begin(Cursor{});
  }
  std::uint32_t asked_shard() const {
    const auto* request = last_as<AuditShardRequest>(replica_.sent.node);
    return request ? request->shard : 99;
  }

  DutyContext replica_;
  BatchGathering batches_;
  Audits audits_{replica_.context, batches_};
};

TEST_F(AuditsOfReplicaZero, TheContributionWaitsForTheAudit) {
  const std::uint32_t shard = asked_shard();
  ASSERT_LT(shard, 2u) << "a shard of replica 0";
  audits_.on(AuditShardReply{5, shard, nullptr});
  EXPECT_EQ(replica_.sent.shards.size(), 1u) << "its batch is asked for";
  ASSERT_TRUE(audits_.take(item_with_rows(shard, 3)));
  EXPECT_EQ(replica_.jobs->size(), 0u) << "the own shards come first";
  audits_.own_begun();
  audits_.own_done({});
  EXPECT_EQ(replica_.jobs->size(), 1u);
  EXPECT_TRUE(replica_.sent.reducer.empty());
  AuditReport report;
  report.shard = shard;
  audits_.on(Audited{0, report, {}});
  const auto* contribution = last_as<Contribute>(replica_.sent.reducer);
  ASSERT_TRUE(contribution);
  EXPECT_EQ(contribution->view, 5u);
  ASSERT_EQ(contribution->audits.size(), 1u);
  EXPECT_EQ(contribution->audits[0].shard, shard);
}

TEST_F(AuditsOfReplicaZero, AShardWithoutSamplesIsFollowedByTheNextOne) {
  const std::uint32_t shard = asked_shard();
  EXPECT_TRUE(audits_.take(item_with_rows(shard, 0)));
  EXPECT_EQ(asked_shard(), 1 - shard);
}

TEST_F(AuditsOfReplicaZero, RepliesAndItemsThatNobodyAskedForAreIgnored) {
  const std::uint32_t shard = asked_shard();
  audits_.on(AuditShardReply{4, shard, nullptr});
  audits_.on(AuditShardReply{5, 1 - shard, nullptr});
  EXPECT_TRUE(replica_.sent.shards.empty());
  EXPECT_FALSE(audits_.take(item_with_rows(1 - shard, 3)));
  EXPECT_FALSE(audits_.take(item_with_rows(2, 3))) << "a shard of its own";
  Item later = item_with_rows(shard, 3);
  later.cursor.step = 1;
  EXPECT_FALSE(audits_.take(later));
}

TEST_F(AuditsOfReplicaZero, AnErrorNamesTheMicroBatch) {
  const std::uint32_t shard = asked_shard();
  EXPECT_TRUE(audits_.take(item_with_rows(shard, 3)));
  audits_.on(Audited{0, {}, "no"});
  const auto* trouble = last_as<Trouble>(replica_.sent.node);
  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->at.shard, shard);
  EXPECT_EQ(trouble->at.step, 1u);
}

TEST_F(AuditsOfReplicaZero, AnAuditThatIsGivenUpAnswersInVain) {
  EXPECT_TRUE(audits_.take(item_with_rows(asked_shard(), 3)));
  audits_.give_up();
  audits_.on(Audited{0, {}, "no"});
  EXPECT_FALSE(last_as<Trouble>(replica_.sent.node));
}

TEST(Audits, AComparedGradientIsReported) {
  DutyContext replica;
  replica.context.trainer().job.train.audit.every = 1000;
  replica.view().unproven = {1};
  BatchGathering batches;
  batches.enter(2, 4);
  Audits audits(replica.context, batches);
  audits.enter();
  EXPECT_FALSE(audits.proven());
  audits.begin(Cursor{});
  EXPECT_TRUE(replica.sent.node.empty()) << "it audits nobody";
  RoundRecord record;
  record.step = 1;
  for (const std::uint32_t shard : {2u, 3u}) {
    ShardReport report;
    report.shard = shard;
    report.rows = 1;
    record.shards.push_back(report);
  }
  audits.prove(record);
  EXPECT_TRUE(audits.proven());
  EXPECT_TRUE(last_as<Compared>(replica.sent.node));
}

TEST(Audits, WithoutAnAuditTheOwnPartIsContributedAtOnce) {
  DutyContext replica;
  replica.context.trainer().job.train.audit.every = 0;
  BatchGathering batches;
  Audits audits(replica.context, batches);
  audits.enter();
  audits.begin(Cursor{});
  audits.own_begun();
  audits.own_done({});
  EXPECT_TRUE(last_as<Contribute>(replica.sent.reducer));
  EXPECT_EQ(replica.activity(), Activity::reducing);
}

}  // namespace
}  // namespace muster::audits_test
