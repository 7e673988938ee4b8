// Members that come back to a coordinator that was started anew.
#include "actors/rules/membership/returns.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/rules/membership/membership_in_view.hpp"

namespace muster {
namespace {

Join joining_again(const NodeName& name) {
  Join join;
  join.protocol = kProtocolVersion;
  join.name = name;
  return join;
}

View view_of(std::uint32_t replicas) {
  View view;
  view.number = 3;
  for (std::uint32_t slot = 0; slot < replicas; ++slot)
    view.replicas.push_back({{false, slot}, 7000ull + slot, {}, slot, slot + 1, 0});
  view.replicas.back().end = 5;
  return view;
}

Adopt adopt_of(const NodeName& name, const View& view, std::uint64_t incarnation) {
  Adopt adopt;
  adopt.join = joining_again(name);
  adopt.join.incarnation = incarnation;
  adopt.prepared.name = name;
  adopt.prepared.state_sha256 = "aa";
  adopt.view = view;
  adopt.begun = true;
  return adopt;
}

TEST(Returns, AfterARestartOnlyMembersOfTheLastViewAreAdopted) {
  const View view = view_of(2);
  Membership membership(job_of(2, 0));
  membership.entered_before(view, {5, 0});
  EXPECT_NE(membership.returns().adopt(adopt_of(kReplica0, view, 1)), "") << "another incarnation";
  EXPECT_FALSE(membership.returns().any_replica_is_back());
  EXPECT_EQ(membership.returns().adopt(adopt_of(kReplica0, view, 7000)), "");
  EXPECT_NE(membership.returns().adopt(adopt_of(kReplica0, view, 7000)), "") << "twice";
  EXPECT_TRUE(membership.returns().any_replica_is_back());
  EXPECT_EQ(membership.returns().missing(), std::vector<NodeName>{kReplica1});
  EXPECT_FALSE(membership.all(NodeStage::installed));
  membership.lost(kReplica1);
  EXPECT_TRUE(membership.returns().missing().empty());
  EXPECT_TRUE(membership.all(NodeStage::installed));
  EXPECT_TRUE(all_have_begun(membership.nodes(), view.number));
  EXPECT_FALSE(all_have_begun(membership.nodes(), view.number + 1));
}

TEST(Returns, WhoComesBackIsComparedWithThoseWhoAreBack) {
  const View view = view_of(2);
  Membership membership(job_of(2, 0));
  membership.entered_before(view, {5, 0});
  ASSERT_EQ(membership.returns().adopt(adopt_of(kReplica0, view, 7000)), "");
  Adopt other = adopt_of(kReplica1, view, 7001);
  other.prepared.state_sha256 = "bb";
  EXPECT_NE(membership.returns().adopt(other).find("begins with other weights than replica 0"),
            std::string::npos);
  EXPECT_TRUE(membership.returns().expects(kReplica1, 7001)) << "it is not in";
  other = adopt_of(kReplica1, view, 7001);
  other.prepared.shapes = "others";
  EXPECT_NE(membership.returns().adopt(other).find("other parameters"), std::string::npos);
  EXPECT_EQ(membership.returns().adopt(adopt_of(kReplica1, view, 7001)), "");
}

// Whatever is compared when a node joins is compared when it comes back, too.
TEST(Returns, WhoComesBackHasTheSameModelDataAndProbeBits) {
  const View view = view_of(2);
  const auto whole = [&](std::uint32_t slot) {
    Adopt adopt = adopt_of({false, slot}, view, 7000ull + slot);
    adopt.prepared.probe_sha256 = "cc";
    adopt.prepared.model_sha256 = "dd";
    adopt.prepared.loads = true;
    adopt.prepared.facts.fingerprint = "ee";
    return adopt;
  };
  Adopt probe = whole(1), model = whole(1), data = whole(1);
  probe.prepared.probe_sha256 = model.prepared.model_sha256 = data.prepared.facts.fingerprint = "others";
  for (const auto& [other, words] : {std::pair{probe, "replica 1 computes other bits than replica 0"},
                                     std::pair{model, "replica 1 has another model.file or model.library"},
                                     std::pair{data, "replica 1 reads other data than replica 0"}}) {
    Membership membership(job_of(2, 0));
    membership.entered_before(view, {5, 0});
    ASSERT_EQ(membership.returns().adopt(whole(0)), "");
    const std::string reason = membership.returns().adopt(other);
    EXPECT_NE(reason.find(words), std::string::npos) << words << " is not in: " << reason;
    EXPECT_TRUE(membership.returns().expects(kReplica1, 7001)) << "it is not in: " << words;
    EXPECT_FALSE(membership.all(NodeStage::installed)) << words;
    EXPECT_EQ(membership.returns().adopt(whole(1)), "") << words;
  }
}

TEST(Returns, WhoComesBackMayComputeOtherBitsWhereTheJobIsLoose) {
  const View view = view_of(2);
  Job job = job_of(2, 0);
  job.cluster.reproducible = Reproducible::loose;
  Membership membership(job);
  membership.entered_before(view, {5, 0});
  Adopt one = adopt_of(kReplica0, view, 7000), other = adopt_of(kReplica1, view, 7001);
  one.prepared.probe_sha256 = "cc";
  other.prepared.probe_sha256 = "others";
  EXPECT_EQ(membership.returns().adopt(one), "");
  EXPECT_EQ(membership.returns().adopt(other), "");
}

TEST(Returns, ANewerViewKeepsThoseOfItWhoAreBack) {
  const View view = view_of(3);
  Membership membership(job_of(3, 0));
  membership.entered_before(view, {5, 0});
  ASSERT_EQ(membership.returns().adopt(adopt_of(kReplica0, view, 7000)), "");
  ASSERT_EQ(membership.returns().adopt(adopt_of(kReplica1, view, 7001)), "");
  View newer = view;
  newer.number = 7;
  newer.replicas.erase(newer.replicas.begin() + 1);
  membership.entered_before(newer, {3, 4});
  EXPECT_TRUE(membership.nodes().lives(kReplica0, 7000));
  EXPECT_FALSE(membership.nodes().lives(kReplica1, 7001)) << "it is not in the newer view";
  EXPECT_EQ(membership.returns().missing(), std::vector<NodeName>{kReplica2});
  EXPECT_EQ(membership.admission().free_numbers(), (FreeNumbers{5, 4})) << "none is given twice";
}

// It hears of them again when its connection broke: perhaps it never connected to them.
TEST(Returns, KnowsTheNewcomersOfADonorInAView) {
  const View view = view_of(2);
  Membership membership(job_of(2, 0));
  membership.entered_before(view, {5, 0});
  ASSERT_EQ(membership.returns().adopt(adopt_of(kReplica0, view, 7000)), "");
  ASSERT_EQ(membership.returns().adopt(adopt_of(kReplica1, view, 7001)), "");
  EXPECT_TRUE(membership.transfers().newcomers_of(kReplica1, view.number).empty());
  Join join = joining_again({});
  join.joins = true;
  const NodeName newcomer = membership.admission().join(join).name;
  membership.transfers().began(newcomer, view.replicas[1]);
  EXPECT_EQ(membership.transfers().newcomers_of(kReplica1, view.number), std::vector<NodeName>{newcomer});
  EXPECT_TRUE(membership.transfers().newcomers_of(kReplica0, view.number).empty()) << "it is another's";
  EXPECT_TRUE(membership.transfers().newcomers_of(kReplica1, view.number + 1).empty());
  membership.lost(newcomer);
  EXPECT_TRUE(membership.transfers().newcomers_of(kReplica1, view.number).empty()) << "it is gone";
}

}  // namespace
}  // namespace muster
