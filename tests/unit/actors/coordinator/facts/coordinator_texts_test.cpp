#include "actors/coordinator/facts/coordinator_texts.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/rules/membership/membership_in_view.hpp"

namespace muster {
namespace {

TEST(CoordinatorTexts, ListTheShardsOfEachSlot) {
  EXPECT_EQ(text_of(std::vector<ShardInterval>{{0, 4}, {4, 4}, {4, 6}}), "0-3 - 4-5");
  EXPECT_EQ(text_of(std::vector<ShardInterval>{}), "");
}

TEST(CoordinatorTexts, SayWhyStepsAreSuspected) {
  SuspectSteps suspects;
  suspects.suspect(7);
  EXPECT_EQ(why_suspected(suspects), "results of step 7 and later may be wrong (event corrupt)");
  SuspectSteps before;
  before.suspected_before(7);
  EXPECT_EQ(why_suspected(before).find("step 7 and later were given up before the coordinator"), 0u);
}

TEST(CoordinatorTexts, NameTheCheckpointThatARunWasToGoOnFrom) {
  View view;
  view.source.checkpoint = "tiny-4.toml";
  EXPECT_EQ(why_resume(view).find("the run was to go on from tiny-4.toml,"), 0u);
}

TEST(CoordinatorTexts, NameWhoIsHereWhoIsGoneAndHowManyAreMissing) {
  Job job = job_of(3, 0);
  job.cluster.start_patience = std::chrono::milliseconds(1500);
  Membership membership(job);
  const auto lacks = [&](const std::string& part) {
    const std::string text = why_not_begun(job, membership);
    return text.find(part) == std::string::npos ? text : std::string();
  };
  EXPECT_EQ(
      lacks(
          "no node came for 15000 ms (10 times cluster.start_patience). Missing: 3 replicas; here: nobody."),
      "");
  EXPECT_NE(lacks("--replicas 0"), "") << "that is no job";
  for (const NodeName& name : {kReplica0, kReplica1}) {
    Join join = join_of(name);
    join.host = "host" + std::to_string(name.slot);
    EXPECT_EQ(membership.admission().join(join).refusal, "");
  }
  membership.lost(kReplica1);
  EXPECT_EQ(
      lacks("Missing: 2 replicas; here: replica 0 on host0; was here, and is gone: replica 1 on host1. "),
      "");
  EXPECT_EQ(lacks("fewer replicas: --replicas 1"), "");
}

TEST(CoordinatorTexts, NameBothEndsOfALinkBetweenHosts) {
  Membership membership(job_of(2, 0));
  for (const NodeName& name : {kReplica0, kReplica1}) {
    Join join = join_of(name);
    join.host = "host" + std::to_string(name.slot);
    join.address = "10.0.0." + std::to_string(name.slot);
    EXPECT_EQ(membership.admission().join(join).refusal, "");
    Prepared prepared = prepared_of(name);
    prepared.host = join.host;
    EXPECT_EQ(membership.admission().prepared(prepared), "");
  }
  EXPECT_EQ(link_ends(membership.nodes(), kReplica1, kReplica0),
            "; the link is between replica 1 on host1 (10.0.0.1), and replica 0 on host0 (10.0.0.0)");
  EXPECT_EQ(link_ends(membership.nodes(), kReplica0, kReplica0), "") << "within a host there is no port";
}

TEST(CoordinatorTexts, NameBothEndsOfAPortThatIsClosedAndTheRangeForFirewalls) {
  Membership membership(job_of(2, 0));
  for (const NodeName& name : {kReplica0, kReplica1}) {
    Join join = join_of(name);
    join.host = "host" + std::to_string(name.slot);
    EXPECT_EQ(membership.admission().join(join).refusal, "");
  }
  const NotReached closed{kReplica1, "10.0.0.2:4000", "connection refused"};
  const std::string free = why_not_reached(membership, "", kReplica0, closed);
  for (const char* part : {"replica 0", "does not reach 10.0.0.2:4000", "replica 1", "connection refused",
                           "cluster.data_ports names a range"})
    EXPECT_NE(free.find(part), std::string::npos) << free;
  const std::string fixed = why_not_reached(membership, "4000-4010", kReplica0, closed);
  EXPECT_NE(fixed.find("cluster.data_ports (4000-4010)"), std::string::npos) << fixed;
}

}  // namespace
}  // namespace muster
