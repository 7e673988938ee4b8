// Who fits the others, and who is refused before the first view.
#include <gtest/gtest.h>

#include "tests/unit/actors/rules/membership/roster_in_view.hpp"

namespace muster {
namespace {

Prepared with_weights(const NodeName& name, const std::string& hash) {
  Prepared message = prepared_of(name);
  message.state_sha256 = hash;
  return message;
}

std::vector<NodeName> names_of(const std::vector<Roster::Unlike>& unlike) {
  std::vector<NodeName> names;
  for (const auto& each : unlike) names.push_back(each.who);
  return names;
}

TEST(RosterFit, NobodyIsUnlikeWhereAllAreAlike) {
  Roster roster = joined_roster(3, 1);
  for (const auto& [name, record] : std::map(roster.nodes()))
    EXPECT_EQ(roster.prepared(prepared_of(name)), "");
  EXPECT_TRUE(roster.unlike().empty());
}

TEST(RosterFit, OfThreeTheOneThatDiffersIsUnlikeThoughItCameFirst) {
  Roster roster = joined_roster(3, 0);
  roster.prepared(with_weights(kReplica0, "bad"));
  roster.prepared(with_weights(kReplica1, "aa"));
  roster.prepared(with_weights(kReplica2, "aa"));
  const auto unlike = roster.unlike();
  ASSERT_EQ(names_of(unlike), std::vector{kReplica0});
  EXPECT_NE(unlike[0].why.find("replica 0 begins with other weights than replica 1"), std::string::npos)
      << unlike[0].why;
}

TEST(RosterFit, OfTwoTheOneThatCameLaterIsUnlike) {
  Roster roster = joined_roster(2, 0);
  roster.prepared(with_weights(kReplica1, "bad"));
  EXPECT_NE(roster.prepared(with_weights(kReplica0, "aa")), "");
  EXPECT_EQ(names_of(roster.unlike()), std::vector{kReplica1});
}

// It is compared with replicas by its data alone.
TEST(RosterFit, ALoaderSaysNothingForReplicasThatDiffer) {
  Roster roster = joined_roster(2, 1);
  roster.prepared(prepared_of(kLoader0));
  roster.prepared(with_weights(kReplica0, "aa"));
  roster.prepared(with_weights(kReplica1, "bad"));
  EXPECT_EQ(names_of(roster.unlike()), std::vector{kReplica1});
}

TEST(RosterFit, WhoIsLostCountsForNothing) {
  Roster roster = joined_roster(2, 0);
  roster.prepared(with_weights(kReplica0, "bad"));
  roster.prepared(with_weights(kReplica1, "aa"));
  roster.lost(kReplica0);
  EXPECT_TRUE(roster.unlike().empty());
}

TEST(RosterFit, HostsAreNamed) {
  Roster roster(job_of(2, 0));
  for (const NodeName& name : {kReplica0, kReplica1}) {
    Join join = join_of(name);
    join.host = "host" + std::to_string(name.slot + 1);
    roster.join(join);
  }
  roster.prepared(with_weights(kReplica0, "aa"));
  const std::string why = roster.prepared(with_weights(kReplica1, "bad"));
  EXPECT_NE(why.find("replica 1 on host2 begins with other weights than replica 0 on host1"),
            std::string::npos)
      << why;
}

TEST(RosterFit, AnotherFileToStartFromIsCalledThat) {
  Job job = job_of(2, 0);
  job.checkpoint.start_from = "/data/begin.safetensors";
  Roster roster(job);
  for (const NodeName& name : {kReplica0, kReplica1}) roster.join(join_of(name));
  Prepared one = with_weights(kReplica0, "aa"), other = with_weights(kReplica1, "bb");
  one.probe_sha256 = other.probe_sha256 = "same";
  roster.prepared(one);
  const std::string why = roster.prepared(other);
  EXPECT_NE(why.find("the file of checkpoint.start_from (/data/begin.safetensors) is not the same"),
            std::string::npos)
      << why;
}

// The place of one that is refused is free, and is waited for.
TEST(RosterFit, APlaceIsCountedUntilItIsTakenAgain) {
  Roster roster = joined_roster(2, 0);
  roster.prepared(prepared_of(kReplica0));
  roster.prepared(prepared_of(kReplica1));
  EXPECT_TRUE(roster.full());
  roster.lost(kReplica1);
  EXPECT_FALSE(roster.full());
  EXPECT_EQ(roster.arrived(false), (std::pair{1u, 2u}));
  newcomer(roster);
  EXPECT_EQ(roster.arrived(false), (std::pair{2u, 2u}));
  EXPECT_TRUE(roster.full());
}

TEST(RosterFit, OnlyThoseOfOtherHostsAreDialled) {
  Roster roster = joined_roster(3, 2);
  const auto on = [](const NodeName& name, const std::string& host) {
    Prepared message = prepared_of(name);
    message.host = host;
    return message;
  };
  roster.prepared(on(kReplica0, "a"));
  roster.prepared(on(kReplica1, "b"));
  roster.prepared(on(kLoader0, "a"));
  roster.prepared(on({true, 1}, "b"));
  EXPECT_EQ(roster.ready_elsewhere(kReplica1), (std::vector{kReplica0, kLoader0}));
  EXPECT_EQ(roster.ready_elsewhere({true, 1}), std::vector{kReplica0}) << "loaders say nothing to each other";
  EXPECT_EQ(roster.ready_elsewhere(kReplica0), (std::vector{kReplica1, NodeName{true, 1}}));
}

// Ready, and not yet tried: it is not counted, and given no state.
TEST(RosterFit, WhoIsNotTriedIsNotTakenIn) {
  Roster roster = joined_roster(2, 0);
  roster.prepared(prepared_of(kReplica0));
  roster.prepared(prepared_of(kReplica1));
  roster.tried(kReplica1, false);
  EXPECT_FALSE(roster.full());
  EXPECT_EQ(roster.first_view().replicas.size(), 1u);
  roster.tried(kReplica1, true);
  EXPECT_TRUE(roster.full());
  View view;
  Roster running = roster_in_view(1, 0, view);
  const NodeName late = newcomer(running);
  running.tried(late, false);
  EXPECT_TRUE(running.hungry().empty());
  running.tried(late, true);
  EXPECT_EQ(running.hungry(), std::vector{late});
}

}  // namespace
}  // namespace muster
