// Which shards are audited, by whom, and how soon each replica has its turn.
#include <gtest/gtest.h>

#include "actors/rules/steps/audit.hpp"

namespace muster {
namespace {

std::vector<Member> members(std::uint32_t replicas, std::uint32_t shards_each) {
  std::vector<Member> all;
  for (std::uint32_t slot = 0; slot < replicas; ++slot)
    all.push_back({{false, slot}, 1, "", slot * shards_each, (slot + 1) * shards_each});
  return all;
}

TEST(Audit, EveryReplicaIsAuditedWithinItsWindow) {
  for (std::uint32_t replicas = 2; replicas <= 7; ++replicas) {
    std::set<std::uint32_t> owners;
    const std::uint64_t window = audit_window(5, replicas);
    for (std::uint64_t step = 1000; step < 1000 + window; ++step) {
      for (const Audit& audit : audits_of(members(replicas, 2), {}, step, 5)) {
        EXPECT_NE(audit.owner, audit.auditor);
        EXPECT_EQ(step % 5, 0u);
        owners.insert(audit.owner);
      }
    }
    EXPECT_EQ(owners.size(), replicas);
  }
}

TEST(Audit, AuditorsAndShardsTakeTurns) {
  std::set<std::uint32_t> auditors, shards;
  for (std::uint64_t step = 0; step < 36; ++step) {
    for (const Audit& audit : audits_of(members(4, 3), {}, step, 1)) {
      if (audit.owner != 2) continue;
      auditors.insert(audit.auditor);
      ASSERT_EQ(audit.shards.size(), 3u);
      shards.insert(audit.shards.front());
    }
  }
  EXPECT_EQ(auditors, (std::set<std::uint32_t>{0, 1, 3}));
  EXPECT_EQ(shards, (std::set<std::uint32_t>{6, 7, 8}));
}

TEST(Audit, NewReplicasAreAllAuditedInOneStepRoundTheView) {
  const auto audits = audits_of(members(3, 1), {0, 1, 2}, 7, 256);
  EXPECT_EQ(audits, (std::vector<Audit>{
                        {0, 1, {0}}, {0, 2, {0}}, {1, 2, {1}}, {1, 0, {1}}, {2, 0, {2}}, {2, 1, {2}}}));
  EXPECT_EQ(audits_of(members(3, 1), {1}, 7, 256).size(), 2u)
      << "of two that differ nobody knows who is wrong";
  EXPECT_EQ(audits_of(members(2, 1), {0, 1}, 7, 256).size(), 2u);
}

TEST(Audit, OneReplicaOrARateOfNoneAuditsNothing) {
  EXPECT_TRUE(audits_of(members(1, 4), {0}, 1, 1).empty());
  EXPECT_TRUE(audits_of(members(3, 4), {0}, 1, 0).empty());
}

TEST(Audit, IsOffWhereNobodyElseCanComputeAShard) {
  View view;
  view.facts.samples = 100;
  view.replicas = members(2, 2);
  Job job;
  EXPECT_EQ(audit_every(job, view), 256u);
  Job loose = job, compressed = job, speculating = job;
  loose.cluster.reproducible = Reproducible::loose;
  compressed.train.compression.kind = CompressionKind::top_k;
  speculating.cluster.straggler.action = StragglerAction::speculate;
  for (const Job& each : {loose, compressed, speculating}) EXPECT_EQ(audit_every(each, view), 0u);
  view.facts.samples = -1;  // a generator
  EXPECT_EQ(audit_every(job, view), 0u);
}

}  // namespace
}  // namespace muster
