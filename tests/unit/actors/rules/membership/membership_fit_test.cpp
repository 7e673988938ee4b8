// Who fits the others, and who is refused before the first view.
#include <gtest/gtest.h>

#include "tests/unit/actors/rules/membership/membership_in_view.hpp"

namespace muster {
namespace {

Prepared with_weights(const NodeName& name, const std::string& hash) {
  Prepared message = prepared_of(name);
  message.state_sha256 = hash;
  return message;
}

std::vector<NodeName> names_of(const std::vector<Membership::Unlike>& unlike) {
  std::vector<NodeName> names;
  for (const auto& each : unlike) names.push_back(each.who);
  return names;
}

TEST(MembershipFit, NobodyIsUnlikeWhereAllAreAlike) {
  Membership membership = joined_membership(3, 1);
  for (const auto& [name, record] : std::map(membership.nodes()))
    EXPECT_EQ(membership.prepared(prepared_of(name)), "");
  EXPECT_TRUE(membership.unlike().empty());
}

TEST(MembershipFit, OfThreeTheOneThatDiffersIsUnlikeThoughItCameFirst) {
  Membership membership = joined_membership(3, 0);
  membership.prepared(with_weights(kReplica0, "bad"));
  membership.prepared(with_weights(kReplica1, "aa"));
  membership.prepared(with_weights(kReplica2, "aa"));
  const auto unlike = membership.unlike();
  ASSERT_EQ(names_of(unlike), std::vector{kReplica0});
  EXPECT_NE(unlike[0].why.find("replica 0 begins with other weights than replica 1"), std::string::npos)
      << unlike[0].why;
}

TEST(MembershipFit, OfTwoTheOneThatCameLaterIsUnlike) {
  Membership membership = joined_membership(2, 0);
  membership.prepared(with_weights(kReplica1, "bad"));
  EXPECT_NE(membership.prepared(with_weights(kReplica0, "aa")), "");
  EXPECT_EQ(names_of(membership.unlike()), std::vector{kReplica1});
}

// It is compared with replicas by its data alone.
TEST(MembershipFit, ALoaderSaysNothingForReplicasThatDiffer) {
  Membership membership = joined_membership(2, 1);
  membership.prepared(prepared_of(kLoader0));
  membership.prepared(with_weights(kReplica0, "aa"));
  membership.prepared(with_weights(kReplica1, "bad"));
  EXPECT_EQ(names_of(membership.unlike()), std::vector{kReplica1});
}

TEST(MembershipFit, WhoIsLostCountsForNothing) {
  Membership membership = joined_membership(2, 0);
  membership.prepared(with_weights(kReplica0, "bad"));
  membership.prepared(with_weights(kReplica1, "aa"));
  membership.lost(kReplica0);
  EXPECT_TRUE(membership.unlike().empty());
}

TEST(MembershipFit, HostsAreNamed) {
  Membership membership(job_of(2, 0));
  for (const NodeName& name : {kReplica0, kReplica1}) {
    Join join = join_of(name);
    join.host = "host" + std::to_string(name.slot + 1);
    membership.join(join);
  }
  membership.prepared(with_weights(kReplica0, "aa"));
  const std::string why = membership.prepared(with_weights(kReplica1, "bad"));
  EXPECT_NE(why.find("replica 1 on host2 begins with other weights than replica 0 on host1"),
            std::string::npos)
      << why;
}

TEST(MembershipFit, AnotherFileToStartFromIsCalledThat) {
  Job job = job_of(2, 0);
  job.checkpoint.start_from = "/data/begin.safetensors";
  Membership membership(job);
  for (const NodeName& name : {kReplica0, kReplica1}) membership.join(join_of(name));
  Prepared one = with_weights(kReplica0, "aa"), other = with_weights(kReplica1, "bb");
  one.probe_sha256 = other.probe_sha256 = "same";
  membership.prepared(one);
  const std::string why = membership.prepared(other);
  EXPECT_NE(why.find("the file of checkpoint.start_from (/data/begin.safetensors) is not the same"),
            std::string::npos)
      << why;
}

// The place of one that is refused is free, and is waited for.
TEST(MembershipFit, APlaceIsCountedUntilItIsTakenAgain) {
  Membership membership = joined_membership(2, 0);
  membership.prepared(prepared_of(kReplica0));
  membership.prepared(prepared_of(kReplica1));
  EXPECT_TRUE(membership.full());
  membership.lost(kReplica1);
  EXPECT_FALSE(membership.full());
  EXPECT_EQ(membership.arrived(false), (std::pair{1u, 2u}));
  newcomer(membership);
  EXPECT_EQ(membership.arrived(false), (std::pair{2u, 2u}));
  EXPECT_TRUE(membership.full());
}

TEST(MembershipFit, OnlyThoseOfOtherHostsAreDialled) {
  Membership membership = joined_membership(3, 2);
  const auto on = [](const NodeName& name, const std::string& host) {
    Prepared message = prepared_of(name);
    message.host = host;
    return message;
  };
  membership.prepared(on(kReplica0, "a"));
  membership.prepared(on(kReplica1, "b"));
  membership.prepared(on(kLoader0, "a"));
  membership.prepared(on({true, 1}, "b"));
  EXPECT_EQ(membership.ready_elsewhere(kReplica1), (std::vector{kReplica0, kLoader0}));
  EXPECT_EQ(membership.ready_elsewhere({true, 1}), std::vector{kReplica0})
      << "loaders say nothing to each other";
  EXPECT_EQ(membership.ready_elsewhere(kReplica0), (std::vector{kReplica1, NodeName{true, 1}}));
}

// Ready, and not yet tried: it is not counted, and given no state.
TEST(MembershipFit, WhoIsNotTriedIsNotTakenIn) {
  Membership membership = joined_membership(2, 0);
  membership.prepared(prepared_of(kReplica0));
  membership.prepared(prepared_of(kReplica1));
  membership.tried(kReplica1, false);
  EXPECT_FALSE(membership.full());
  EXPECT_EQ(membership.first_view().replicas.size(), 1u);
  membership.tried(kReplica1, true);
  EXPECT_TRUE(membership.full());
  View view;
  Membership running = membership_in_view(1, 0, view);
  const NodeName late = newcomer(running);
  running.tried(late, false);
  EXPECT_TRUE(running.hungry().empty());
  running.tried(late, true);
  EXPECT_EQ(running.hungry(), std::vector{late});
}

}  // namespace
}  // namespace muster
