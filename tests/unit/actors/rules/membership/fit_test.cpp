// Who fits the others, and who is refused before the first view.
#include "actors/rules/membership/fit.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/rules/membership/membership_in_view.hpp"

namespace muster {
namespace {

Prepared with_weights(const NodeName& name, const std::string& hash) {
  Prepared message = prepared_of(name);
  message.state_sha256 = hash;
  return message;
}

std::vector<NodeName> names_of(const std::vector<Fit::Unlike>& unlike) {
  std::vector<NodeName> names;
  for (const auto& each : unlike) names.push_back(each.who);
  return names;
}

TEST(Fit, NobodyIsUnlikeWhereAllAreAlike) {
  Membership membership = joined_membership(3, 1);
  for (const auto& [name, record] : std::map(membership.nodes().all()))
    EXPECT_EQ(membership.admission().prepared(prepared_of(name)), "");
  EXPECT_TRUE(membership.fit().unlike().empty());
}

TEST(Fit, OfThreeTheOneThatDiffersIsUnlikeThoughItCameFirst) {
  Membership membership = joined_membership(3, 0);
  membership.admission().prepared(with_weights(kReplica0, "bad"));
  membership.admission().prepared(with_weights(kReplica1, "aa"));
  membership.admission().prepared(with_weights(kReplica2, "aa"));
  const auto unlike = membership.fit().unlike();
  ASSERT_EQ(names_of(unlike), std::vector{kReplica0});
  EXPECT_NE(unlike[0].why.find("replica 0 begins with other weights than replica 1"), std::string::npos)
      << unlike[0].why;
}

TEST(Fit, OfTwoTheOneThatCameLaterIsUnlike) {
  Membership membership = joined_membership(2, 0);
  membership.admission().prepared(with_weights(kReplica1, "bad"));
  EXPECT_NE(membership.admission().prepared(with_weights(kReplica0, "aa")), "");
  EXPECT_EQ(names_of(membership.fit().unlike()), std::vector{kReplica1});
}

// It is compared with replicas by its data alone.
TEST(Fit, ALoaderSaysNothingForReplicasThatDiffer) {
  Membership membership = joined_membership(2, 1);
  membership.admission().prepared(prepared_of(kLoader0));
  membership.admission().prepared(with_weights(kReplica0, "aa"));
  membership.admission().prepared(with_weights(kReplica1, "bad"));
  EXPECT_EQ(names_of(membership.fit().unlike()), std::vector{kReplica1});
}

TEST(Fit, WhoIsLostCountsForNothing) {
  Membership membership = joined_membership(2, 0);
  membership.admission().prepared(with_weights(kReplica0, "bad"));
  membership.admission().prepared(with_weights(kReplica1, "aa"));
  membership.lost(kReplica0);
  EXPECT_TRUE(membership.fit().unlike().empty());
}

TEST(Fit, HostsAreNamed) {
  Membership membership(job_of(2, 0));
  for (const NodeName& name : {kReplica0, kReplica1}) {
    Join join = join_of(name);
    join.host = "host" + std::to_string(name.slot + 1);
    membership.admission().join(join);
  }
  membership.admission().prepared(with_weights(kReplica0, "aa"));
  const std::string why = membership.admission().prepared(with_weights(kReplica1, "bad"));
  EXPECT_NE(why.find("replica 1 on host2 begins with other weights than replica 0 on host1"),
            std::string::npos)
      << why;
}

TEST(Fit, AnotherFileToStartFromIsCalledThat) {
  Job job = job_of(2, 0);
  job.checkpoint.start_from = "/data/begin.safetensors";
  Membership membership(job);
  for (const NodeName& name : {kReplica0, kReplica1}) membership.admission().join(join_of(name));
  Prepared one = with_weights(kReplica0, "aa"), other = with_weights(kReplica1, "bb");
  one.probe_sha256 = other.probe_sha256 = "same";
  membership.admission().prepared(one);
  const std::string why = membership.admission().prepared(other);
  EXPECT_NE(why.find("the file of checkpoint.start_from (/data/begin.safetensors) is not the same"),
            std::string::npos)
      << why;
}

TEST(Fit, OnlyThoseOfOtherHostsAreDialed) {
  Membership membership = joined_membership(3, 2);
  const auto on = [](const NodeName& name, const std::string& host) {
    Prepared message = prepared_of(name);
    message.host = host;
    return message;
  };
  membership.admission().prepared(on(kReplica0, "a"));
  membership.admission().prepared(on(kReplica1, "b"));
  membership.admission().prepared(on(kLoader0, "a"));
  membership.admission().prepared(on({true, 1}, "b"));
  EXPECT_EQ(membership.nodes().ready_elsewhere(kReplica1), (std::vector{kReplica0, kLoader0}));
  EXPECT_EQ(membership.nodes().ready_elsewhere({true, 1}), std::vector{kReplica0})
      << "loaders say nothing to each other";
  EXPECT_EQ(membership.nodes().ready_elsewhere(kReplica0), (std::vector{kReplica1, NodeName{true, 1}}));
}

TEST(Fit, FingerprintsAreShownWhereTheyDiffer) {
  Membership membership = joined_membership(2, 0);
  Prepared one = prepared_of(kReplica0), other = prepared_of(kReplica1);
  one.loads = other.loads = true;
  one.facts.fingerprint = "ring of 2000 points, seed 1";
  other.facts.fingerprint = "ring of 2000 points, seed 2";
  membership.admission().prepared(one);
  const std::string why = membership.admission().prepared(other);
  EXPECT_NE(why.find("(fingerprints ...eed 2 and ...eed 1)"), std::string::npos) << why;
}

TEST(Fit, OtherWeightsOrOtherDataAreSaid) {
  Membership membership = joined_membership(2, 2);
  membership.admission().prepared(prepared_of(kReplica0));
  Prepared other = prepared_of(kReplica1);
  other.state_sha256 = "bb";
  const std::string weights = membership.admission().prepared(other);
  EXPECT_NE(weights.find("replica 1 begins with other weights than replica 0"), std::string::npos) << weights;
  membership.admission().prepared(prepared_of(kLoader0));
  Prepared reader = prepared_of({true, 1});
  reader.facts.fingerprint = "else";
  EXPECT_NE(membership.admission().prepared(reader).find("loader 1 reads other data than loader 0"),
            std::string::npos);
}

TEST(Fit, AnotherModelFileIsSaid) {
  Membership membership = joined_membership(2, 0);
  Prepared one = prepared_of(kReplica0), other = prepared_of(kReplica1);
  one.model_sha256 = "aa";
  other.model_sha256 = "bb";
  EXPECT_EQ(membership.admission().prepared(one), "");
  const std::string said = membership.admission().prepared(other);
  EXPECT_NE(said.find("replica 1 has another model.file or model.library than replica 0 (SHA-256 bb and aa)"),
            std::string::npos)
      << said;
}

TEST(Fit, OtherBitsOfTheProbeAreRefusedUnlessLooseIsAskedFor) {
  for (const auto reproducible : {Reproducible::strict, Reproducible::loose}) {
    Job job = job_of(2, 0);
    job.cluster.reproducible = reproducible;
    Membership membership(job);
    for (const NodeName& who : {kReplica0, kReplica1}) membership.admission().join(join_of(who));
    Prepared prepared = prepared_of(kReplica0);
    prepared.probe_sha256 = "aa";
    EXPECT_EQ(membership.admission().prepared(prepared), "");
    EXPECT_EQ(membership.fit().other_bits(kReplica0), "");
    prepared = prepared_of(kReplica1);
    prepared.probe_sha256 = "bb";
    const std::string refusal = membership.admission().prepared(prepared);
    EXPECT_EQ(refusal.empty(), reproducible == Reproducible::loose) << refusal;
    EXPECT_NE(membership.fit().other_bits(kReplica1).find("replica 1 computes other bits than replica 0"),
              std::string::npos);
  }
}

TEST(Fit, WhatTwoComputeWithIsSaidWhereTheirBitsDiffer) {
  for (const std::string mine : {"AMD EPYC, libtorch 2", "Intel Xeon, libtorch 1"}) {
    Membership membership = joined_membership(2, 0);
    Prepared one = prepared_of(kReplica0), other = prepared_of(kReplica1);
    one.computes_with = "Intel Xeon, libtorch 1";
    one.probe_sha256 = "aa";
    other.computes_with = mine;
    other.probe_sha256 = "bb";
    EXPECT_EQ(membership.admission().prepared(one), "");
    const std::string said = membership.admission().prepared(other);
    const bool same = one.computes_with == other.computes_with;
    const std::string wanted =
        same ? "both compute with Intel Xeon, libtorch 1: is a library"
             : "replica 1 computes with AMD EPYC, libtorch 2; replica 0 with Intel Xeon, libtorch 1.";
    EXPECT_NE(said.find(wanted), std::string::npos) << said;
    EXPECT_EQ(said.find("OPENBLAS_CORETYPE=Haswell") == std::string::npos, same) << said;
  }
}

}  // namespace
}  // namespace muster
