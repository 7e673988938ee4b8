#include "actors/coordinator/views/corruption.hpp"

#include <gtest/gtest.h>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "tests/support/faulty_disk.hpp"
#include "tests/support/mounted_disk.hpp"
#include "tests/support/tiny_checkpoint.hpp"
#include "tests/unit/actors/coordinator/part_test.hpp"

namespace muster {
namespace {

// Replicas train in view 1. At step 9 they find other bits; what was done until step 5 was compared before,
// and there is a checkpoint of that step, which members reported.
class CorruptionOf : public PartTest {
 protected:
  explicit CorruptionOf(std::uint32_t replicas) : PartTest(std::make_unique<RunningJob>(replicas)) {
    has_a_journal();
    Checkpointed report;
    report.manifest = "tiny-5";
    report.records = report.step = 5;
    job_.checkpoints.known->reported(report);
  }
  // Of these groups, by slot.
  UnlikeBits bits_differ(Bits bits, std::vector<std::uint32_t> groups, std::uint64_t compared_to = 5) const {
    UnlikeBits message;
    message.name = kReplica0;
    message.view = 1;
    message.bits = static_cast<std::uint8_t>(bits);
    message.step = 9;
    message.groups = std::move(groups);
    for (std::uint32_t slot = 0; slot < message.groups.size(); ++slot) message.slots.push_back(slot);
    message.clean.assign(message.groups.size(), compared_to);
    message.text = "other bits";
    return message;
  }
  SuspectSteps& suspected() { return job_.checkpoints.suspects; }

  Corruption corruption_{job_.run, job_.checkpoints, suspects_, port_, actions_, actions_};
};

class CorruptionOfOneInThree : public CorruptionOf {
 protected:
  CorruptionOfOneInThree() : CorruptionOf(3) {}
  UnlikeBits second_is_odd(Bits bits, std::uint64_t compared_to = 5) const {
    return bits_differ(bits, {0, 1, 0}, compared_to);
  }
};

TEST_F(CorruptionOfOneInThree, SuspectsAreInTheJournalBeforeTheEventAndTheEviction) {
  corruption_.on(second_is_odd(Bits::gradient));
  EXPECT_EQ(log_.all, (PartTexts{"journal view 1", "event corrupt", "lost replica 1: corrupt: other bits"}));
  EXPECT_EQ(journal_->entry->suspect_from, 6u);
  EXPECT_EQ(port_.events[0].integer("replica"), 1);
}

TEST_F(CorruptionOfOneInThree, WhatWasComparedBeforeIsNotSuspected) {
  corruption_.on(second_is_odd(Bits::gradient, 8));
  EXPECT_FALSE(suspected().any()) << "nothing was applied since";
  EXPECT_EQ(log_.all, (PartTexts{"event corrupt", "lost replica 1: corrupt: other bits"}));
}

TEST_F(CorruptionOfOneInThree, WhoComputesWrongBitsDoesNotComeBack) {
  corruption_.on(second_is_odd(Bits::gradient));
  EXPECT_FALSE(actions_.may_return[kReplica1]);
}

TEST_F(CorruptionOfOneInThree, WhoseMemoryWasWrongGetsTheStateAnew) {
  corruption_.on(second_is_odd(Bits::weights));
  EXPECT_TRUE(actions_.may_return[kReplica1]);
}

TEST_F(CorruptionOfOneInThree, ARunThatStopsByItsPolicySaysWhoDiffers) {
  job_.run.setup.job.cluster.on_corruption = OnCorruption::stop;
  corruption_.on(second_is_odd(Bits::weights));
  EXPECT_EQ(log_.all.back().find("fail: diverged: other bits; replica 1 differs from the majority; "), 0u)
      << log_.all.back();
}

TEST_F(CorruptionOfOneInThree, AllMembersSayTheSameAndOneReportCounts) {
  corruption_.on(second_is_odd(Bits::gradient));
  UnlikeBits of_another = second_is_odd(Bits::gradient);
  of_another.name = kReplica2;
  corruption_.on(of_another);
  EXPECT_EQ(actions_.all.size(), 1u);
  EXPECT_EQ(port_.events.size(), 1u);
}

TEST_F(CorruptionOfOneInThree, WhoIsGoneAlreadyIsNotLostAgain) {
  job_.membership().lost(kReplica1);
  corruption_.on(second_is_odd(Bits::gradient));
  EXPECT_EQ(actions_.all, PartTexts{});
  job_.run.view.number = 2;
  job_.membership().left(kReplica1);
  UnlikeBits again = second_is_odd(Bits::gradient);
  again.view = 2;
  corruption_.on(again);
  EXPECT_EQ(actions_.all, PartTexts{});
}

TEST_F(CorruptionOfOneInThree, OneThatHasNotComeBackYetIsLost) {
  View view = job_.run.view;
  job_.run.membership = std::make_unique<Membership>(job_.run.setup.job);
  job_.membership().entered_before(view, {3, 0});
  Adopt adopt;
  adopt.join = join_of(kReplica0);
  adopt.prepared = prepared_of(kReplica0);
  adopt.view = view;
  for (const NodeName& who : {kReplica0, kReplica2}) {
    adopt.join = join_of(who);
    adopt.prepared = prepared_of(who);
    ASSERT_EQ(job_.membership().returns().adopt(adopt), "");
  }
  corruption_.on(second_is_odd(Bits::gradient));
  EXPECT_EQ(actions_.all, PartTexts{"lost replica 1: corrupt: other bits"});
}

TEST_F(CorruptionOfOneInThree, ReportsOfAnotherViewOrOfNoMemberSayNothing) {
  UnlikeBits message = second_is_odd(Bits::gradient);
  message.view = 2;
  corruption_.on(message);
  message.view = 1;
  job_.membership().lost(kReplica0);
  corruption_.on(message);
  EXPECT_EQ(log_.all, PartTexts{});
}

TEST_F(CorruptionOfOneInThree, NothingFollowsBehindTheEnd) {
  job_.run.end.decide(port_.now());
  corruption_.on(second_is_odd(Bits::gradient));
  EXPECT_EQ(log_.all, PartTexts{});
}

TEST_F(CorruptionOfOneInThree, AJobThatOnlyReportsGoesOn) {
  job_.run.setup.job.cluster.on_corruption = OnCorruption::report;
  corruption_.on(second_is_odd(Bits::gradient));
  EXPECT_EQ(log_.all, PartTexts{"event corrupt"});
  EXPECT_FALSE(suspected().any());
}

TEST_F(CorruptionOfOneInThree, ARunThatEndsForItSuspectsWithoutACheckpoint) {
  job_.run.setup.job.cluster.on_loss = OnLoss::fail;
  job_.checkpoints.known->forget_reports();
  job_.checkpoints.known->go_on_from(Checkpointed{});
  corruption_.on(second_is_odd(Bits::gradient));
  EXPECT_EQ(suspected().from(), 6u);
}

TEST_F(CorruptionOfOneInThree, ACoordinatorThatIsTakenOverEvictsNobody) {
  journal_->taken = true;
  corruption_.on(second_is_odd(Bits::gradient));
  EXPECT_EQ(log_.all, (PartTexts{"forget all", "event failed", "finish", "event corrupt"}));
}

TEST_F(CorruptionOfOneInThree, EqualWeightsAfterTheFirstStepProveWhatMembersWereGiven) {
  job_.run.view.replicas[2].holds_of = {0};
  job_.membership().entered(job_.run.view);
  UnlikeBits message = second_is_odd(Bits::record);
  corruption_.on(message);
  EXPECT_FALSE(job_.membership().at(kReplica2).bits.holds_of.empty()) << "records say nothing of weights";
  message = second_is_odd(Bits::weights);
  message.first = true;
  corruption_.on(message);
  EXPECT_FALSE(job_.membership().at(kReplica2).bits.holds_of.empty()) << "the view begins with it";
  message.first = false;
  corruption_.on(message);
  EXPECT_TRUE(job_.membership().at(kReplica2).bits.holds_of.empty());
}

TEST_F(CorruptionOfOneInThree, AFolderOfCheckpointsIsLookedAtBeforeItMayGoAway) {
  const std::string hash(64, 'a');
  const auto disk = std::make_shared<FaultyDisk>();
  const auto away = std::make_shared<Away>(Away::no);
  const auto mounted = std::make_shared<MountedDisk>(disk, std::make_shared<bool>(false), away);
  job_.run.setup.job.name = "tiny";
  job_.checkpoints.known =
      std::make_unique<KnownCheckpoints>(mounted, job_.run.setup.job, hash, job_.checkpoints.verdicts);
  Snapshot snapshot;
  snapshot.history = 1;
  snapshot.state.assign(4, 1.f);
  snapshot.place.records = snapshot.place.steps = 1;
  snapshot.place.cursor = {Mode::train, 1, 1};
  CheckpointStore(disk, testing::tiny_identity(hash)).save(snapshot, 100);
  corruption_.on(second_is_odd(Bits::gradient));
  *away = Away::unmounted;
  EXPECT_TRUE(job_.checkpoints.known->is_away());
}

class CorruptionOfTwoInFive : public CorruptionOf {
 protected:
  CorruptionOfTwoInFive() : CorruptionOf(5) {}
};

TEST_F(CorruptionOfTwoInFive, BothAreLost) {
  corruption_.on(bits_differ(Bits::gradient, {0, 0, 0, 1, 2}));
  EXPECT_EQ(actions_.all,
            (PartTexts{"lost replica 3: corrupt: other bits", "lost replica 4: corrupt: other bits"}));
}

TEST_F(CorruptionOfTwoInFive, ARunThatEndsWithOneLosesNobodyElse) {
  actions_.then = [this](const std::string&) { job_.run.end.decide(port_.now()); };
  corruption_.on(bits_differ(Bits::gradient, {0, 0, 0, 1, 2}));
  EXPECT_EQ(actions_.all, PartTexts{"lost replica 3: corrupt: other bits"});
}

class CorruptionOfOneInTwo : public CorruptionOf {
 protected:
  CorruptionOfOneInTwo() : CorruptionOf(2) {}
};

TEST_F(CorruptionOfOneInTwo, AGradientThatNobodyCanJudgeIsComputedAgainByAll) {
  corruption_.on(bits_differ(Bits::gradient, {0, 1}, 8));
  EXPECT_EQ(log_.all, (PartTexts{"event corrupt", "close view"}));
  EXPECT_EQ(suspected().compared_next(), SuspectSteps::Steps(9, 9));
  EXPECT_FALSE(suspected().in_doubt());
}

TEST_F(CorruptionOfOneInTwo, StepsSinceTheLastComparisonAreInDoubtWhereTheRunCannotGoBack) {
  job_.checkpoints.known->forget_reports();
  job_.checkpoints.known->go_on_from(Checkpointed{});
  corruption_.on(bits_differ(Bits::gradient, {0, 1}));
  EXPECT_EQ(suspected().doubt_from(), 6u);
  EXPECT_EQ(suspected().compared_next(), SuspectSteps::Steps(6, 9));
}

TEST_F(CorruptionOfOneInTwo, ARestartedCoordinatorWaitsForItsMembersBeforeItCloses) {
  job_.run.phase = CoordinatorPhase::adopting;
  corruption_.on(bits_differ(Bits::gradient, {0, 1}, 8));
  EXPECT_EQ(log_.all, PartTexts{"event corrupt"});
}

TEST_F(CorruptionOfOneInTwo, WeightsThatNobodyCanJudgeEndTheRun) {
  corruption_.on(bits_differ(Bits::weights, {0, 1}));
  ASSERT_EQ(log_.all.size(), 3u);
  EXPECT_EQ(log_.all[0], "journal view 1");
  EXPECT_EQ(log_.all[1], "event corrupt");
  EXPECT_EQ(log_.all[2].find("fail: diverged: other bits; no majority tells which of them is right; "), 0u);
  EXPECT_NE(log_.all[2].find("tiny-5"), std::string::npos) << "it says what can be gone on with";
}

TEST_F(CorruptionOfOneInTwo, ACoordinatorThatIsTakenOverFailsForNothingElse) {
  journal_->taken = true;
  corruption_.on(bits_differ(Bits::weights, {0, 1}));
  EXPECT_EQ(log_.all, (PartTexts{"forget all", "event failed", "finish", "event corrupt"}));
}

}  // namespace
}  // namespace muster
