// Who is taken in, and who is ready when a run begins.
#include "actors/rules/membership/admission.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/rules/membership/membership_in_view.hpp"

namespace muster {
namespace {

TEST(Admission, RefusesAnotherProtocolAStrangerAndASecondOne) {
  Membership membership(job_of(2, 0));
  Join old = join_of(kReplica0);
  old.protocol = kProtocolVersion + 1;
  EXPECT_NE(membership.admission().join(old).refusal.find("protocol version"), std::string::npos);
  EXPECT_NE(membership.admission().join(join_of(kReplica2)).refusal.find("the run has no replica 2"),
            std::string::npos);
  EXPECT_NE(membership.admission().join(join_of(kLoader0)).refusal.find("the run has no loader 0"),
            std::string::npos);
  EXPECT_FALSE(membership.alive(kReplica0)) << "a refusal changes nothing";
  EXPECT_EQ(membership.admission().join(join_of(kReplica0)).refusal, "");
  EXPECT_NE(
      membership.admission().join(join_of(kReplica0)).refusal.find("has joined already, as process 100"),
      std::string::npos);
  EXPECT_EQ(membership.at(kReplica0).process.incarnation, 7000u);
}

TEST(Admission, ANewcomerGetsTheNextNumberAndNeverOneThatWasUsed) {
  View view;
  Membership membership = membership_in_view(2, 0, view);
  membership.lost(kReplica1);
  EXPECT_EQ(newcomer(membership).slot, 2u);
  EXPECT_EQ(newcomer(membership).slot, 3u);
  Join loader = join_of({true, 0});
  loader.joins = true;
  EXPECT_NE(membership.admission().join(loader).refusal.find("no loader processes"), std::string::npos);
}

// The place of one that is refused is free, and is waited for.
TEST(Admission, APlaceIsCountedUntilItIsTakenAgain) {
  Membership membership = joined_membership(2, 0);
  membership.admission().prepared(prepared_of(kReplica0));
  membership.admission().prepared(prepared_of(kReplica1));
  EXPECT_TRUE(membership.admission().full());
  membership.lost(kReplica1);
  EXPECT_FALSE(membership.admission().full());
  EXPECT_EQ(membership.admission().arrived(false), (std::pair{1u, 2u}));
  newcomer(membership);
  EXPECT_EQ(membership.admission().arrived(false), (std::pair{2u, 2u}));
  EXPECT_TRUE(membership.admission().full());
}

// Ready, and not yet tried: it is not counted, and given no state.
TEST(Admission, WhoIsNotTriedIsNotTakenIn) {
  Membership membership = joined_membership(2, 0);
  membership.admission().prepared(prepared_of(kReplica0));
  membership.admission().prepared(prepared_of(kReplica1));
  membership.admission().tried(kReplica1, false);
  EXPECT_FALSE(membership.admission().full());
  EXPECT_EQ(membership.views().first().replicas.size(), 1u);
  membership.admission().tried(kReplica1, true);
  EXPECT_TRUE(membership.admission().full());
  View view;
  Membership running = membership_in_view(1, 0, view);
  const NodeName late = newcomer(running);
  running.admission().tried(late, false);
  EXPECT_TRUE(running.transfers().without_donor().empty());
  running.admission().tried(late, true);
  EXPECT_EQ(running.transfers().without_donor(), std::vector{late});
}

TEST(Admission, TheFirstViewIsOfThoseWhoAreReady) {
  Membership membership = joined_membership(2, 1);
  EXPECT_EQ(membership.admission().prepared(prepared_of(kReplica0)), "");
  EXPECT_EQ(membership.admission().prepared(prepared_of(kLoader0)), "");
  EXPECT_EQ(membership.views().missing_to_begin(), "");
  EXPECT_FALSE(membership.admission().full()) << "replica 1 has joined, and is not ready";
  newcomer(membership);
  EXPECT_TRUE(membership.admission().full()) << "a third one is ready before replica 1";
  const View view = membership.views().first();
  ASSERT_EQ(view.replicas.size(), 2u);
  EXPECT_EQ(view.replicas.back().name, kReplica2);
  membership.entered(view);
  EXPECT_TRUE(membership.transfers().without_donor().empty());
  EXPECT_EQ(membership.admission().prepared(prepared_of(kReplica1)), "");
  EXPECT_EQ(membership.transfers().without_donor(), std::vector{kReplica1}) << "it comes as a newcomer";
}

TEST(Admission, WhatIsMissingToBeginIsSaid) {
  Job job = job_of(3, 1);
  job.cluster.min_replicas = 2;
  job.cluster.on_loader_loss = OnLoaderLoss::load_here;
  Membership membership(job);
  const auto comes = [&](const NodeName& name, bool reads) {
    membership.admission().join(join_of(name));
    Prepared prepared = prepared_of(name);
    prepared.loads = reads;
    prepared.facts = {};
    EXPECT_EQ(membership.admission().prepared(prepared), "");
  };
  comes(kReplica0, true);
  EXPECT_EQ(membership.views().missing_to_begin(), "1 more replicas (cluster.min_replicas = 2)");
  comes(kReplica1, false);
  EXPECT_EQ(membership.views().missing_to_begin(),
            "a loader process, for replica 1 cannot read the data itself");
  comes(kLoader0, true);
  EXPECT_EQ(membership.views().missing_to_begin(), "");
}

TEST(Admission, WhoDoesNotGetReadyIsLateAndHoldsBackNobody) {
  View view;
  Membership membership = membership_in_view(1, 0, view);
  Join join = join_of({false, 77});
  join.joins = true;
  const NodeName hangs = membership.admission().join(join).name;
  membership.leaving(kReplica0);
  EXPECT_TRUE(membership.admission().any_prepares());
  EXPECT_TRUE(membership.transfers().donor()) << "it may be given the state";
  EXPECT_TRUE(membership.admission().late_to_prepare(2).empty());
  EXPECT_EQ(membership.admission().late_to_prepare(2), std::vector{hangs});
  EXPECT_TRUE(membership.admission().late_to_prepare(2).empty()) << "it is told once";
  EXPECT_FALSE(membership.transfers().donor());
  EXPECT_EQ(membership.admission().prepared(prepared_of(hangs)), "");
  EXPECT_TRUE(membership.transfers().donor());
}

TEST(Admission, OnesThatComeByThemselvesGetTheCoreThatTheFewestComputeOn) {
  Membership membership(job_of(3, 0));
  Admission& admission = membership.admission();
  const auto comes = [&](std::uint32_t slot, const std::string& host, const std::string& device) {
    Join join = join_of({false, slot});
    join.host = host;
    EXPECT_EQ(admission.join(join).refusal, "");
    admission.placed({false, slot}, device);
  };
  comes(0, "a", "cpu:0");
  comes(1, "b", "cpu:1");
  comes(2, "a", "cpu:2");
  Join join = join_of({false, 9});
  join.host = "a";
  join.cores = 3;
  EXPECT_EQ(admission.device_for(join), "cpu:1") << "replica 1 is on another host";
  membership.lost(kReplica0);
  EXPECT_EQ(admission.device_for(join), "cpu:0") << "nobody computes there any more";
  join.device = "cuda:7";
  EXPECT_EQ(admission.device_for(join), "cuda:7") << "as it asks";
  EXPECT_EQ(admission.device_for(join_of(kLoader0)), "-");
}

TEST(Admission, NumbersThatOthersGaveAreNotGivenAgain) {
  Membership membership(job_of(1, 1), {4, 2});
  Admission& admission = membership.admission();
  EXPECT_EQ(admission.free_numbers(), (FreeNumbers{5, 3})) << "the places of the job have the first ones";
  admission.given(FreeNumbers{8, 1});
  View view;
  view.loaders.resize(1);
  view.loaders[0].name = {true, 6};
  admission.given(view);
  EXPECT_EQ(admission.free_numbers(), (FreeNumbers{8, 7}));
}

TEST(Admission, PlacesThatNobodyTookAreDropped) {
  Membership membership(job_of(3, 0));
  membership.admission().join(join_of(kReplica1));
  membership.admission().drop_expected();
  EXPECT_EQ(membership.nodes().all().size(), 1u);
  EXPECT_EQ(membership.admission().arrived(false), (std::pair{1u, 3u}));
}

}  // namespace
}  // namespace muster
