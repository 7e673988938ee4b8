#include "actors/coordinator/views/corruption_report.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/coordinator/running_job.hpp"

namespace muster {
namespace {

using SourceSlots = std::set<std::uint32_t>;

// Replica 1 of three differs at step 9.
UnlikeBits second_differs(Bits bits) {
  UnlikeBits message;
  message.name = kReplica0;
  message.view = 1;
  message.bits = static_cast<std::uint8_t>(bits);
  message.step = 9;
  message.slots = {0, 1, 2};
  message.groups = {0, 1, 0};
  message.text = "other bits";
  return message;
}

Judgement evict_second() {
  return {Judgement::Act::evict, {1}, true};
}

class CorruptionReport : public ::testing::Test {
 protected:
  std::uint64_t first_of(const UnlikeBits& message, const Judgement& judgement) {
    return first_in_doubt(message, judgement, job_.membership(), job_.checkpoints.suspects);
  }
  std::string follows(std::uint64_t from, const Judgement& judgement, bool ends) {
    return what_follows(second_differs(Bits::gradient), judgement, from, ends, *job_.checkpoints.known);
  }
  void remember_checkpoint(std::uint64_t step) {
    Checkpointed report;
    report.manifest = "tiny-" + std::to_string(step);
    report.records = report.step = step;
    report.view = 1;
    job_.checkpoints.known->reported(report);
  }

  RunningJob job_{3};
};

TEST_F(CorruptionReport, GradientsAreComparedBeforeTheirStepIsApplied) {
  EXPECT_EQ(last_done(second_differs(Bits::gradient)), 8u);
  EXPECT_EQ(last_done(second_differs(Bits::weights)), 9u);
  UnlikeBits unknown = second_differs(Bits::gradient);
  unknown.bits = 77;
  EXPECT_EQ(bits_of(unknown), Bits::gradient) << "a message may hold anything";
}

TEST_F(CorruptionReport, EachMemberHasItsOpinion) {
  const Suspects suspects = suspects_in(second_differs(Bits::weights), job_.run);
  ASSERT_EQ(suspects.opinions.size(), 3u);
  EXPECT_EQ(suspects.opinions[1].slot, 1u);
  EXPECT_EQ(suspects.opinions[1].group, 1u);
  EXPECT_TRUE(suspects.all_heard);
  UnlikeBits two = second_differs(Bits::weights);
  two.slots.pop_back();
  EXPECT_EQ(suspects_in(two, job_.run).opinions.size(), 2u);
  EXPECT_FALSE(suspects_in(two, job_.run).all_heard);
}

TEST_F(CorruptionReport, TheSourcesOfAStateAreFollowedThroughThoseWhoAreNotAsked) {
  const NodeName third = newcomer(job_.membership()), fourth = newcomer(job_.membership());
  job_.membership().transfers().began(third, job_.membership().member_of(kReplica2));
  job_.membership().transfers().began(fourth, job_.membership().member_of(third));
  EXPECT_EQ(sources_of(fourth.slot, {third.slot}, job_.membership()), SourceSlots{third.slot});
  EXPECT_EQ(sources_of(fourth.slot, {}, job_.membership()), (SourceSlots{2, third.slot}));
  EXPECT_EQ(sources_of(77, {}, job_.membership()), SourceSlots{}) << "nobody knows it";
}

TEST_F(CorruptionReport, StepsAfterTheLastComparisonAreInDoubt) {
  job_.membership().compared(job_.run.view.number, {8, 5, 8});
  EXPECT_EQ(first_of(second_differs(Bits::gradient), evict_second()), 6u);
  EXPECT_EQ(first_of(second_differs(Bits::record), evict_second()), 10u)
      << "a record is found before anything is computed with it";
}

TEST_F(CorruptionReport, AnOlderDoubtCountsWhereNobodyKnowsWhoIsWrong) {
  job_.membership().compared(job_.run.view.number, {8, 8, 8});
  job_.checkpoints.suspects.doubt(4, {0, 1});
  const Judgement nobody{Judgement::Act::again, {}, true};
  EXPECT_EQ(first_of(second_differs(Bits::gradient), nobody), 4u);
  EXPECT_EQ(first_of(second_differs(Bits::gradient), evict_second()), 9u);
}

TEST_F(CorruptionReport, TheRunEndsIfItCannotLoseTheReplica) {
  job_.run.setup.job.cluster.on_loss = OnLoss::go_on;
  EXPECT_FALSE(ends_with(evict_second(), job_.run));
  EXPECT_TRUE(ends_with({Judgement::Act::stop, {}, true}, job_.run));
  job_.run.setup.job.cluster.on_loss = OnLoss::fail;
  EXPECT_TRUE(ends_with(evict_second(), job_.run));
  job_.membership().lost(kReplica1);
  EXPECT_FALSE(ends_with(evict_second(), job_.run)) << "it is lost already";
}

TEST_F(CorruptionReport, SaysWhatFollows) {
  EXPECT_EQ(follows(9, evict_second(), false),
            "nothing is needed for the weights: no step that was applied holds "
            "wrong results");
  EXPECT_NE(follows(6, evict_second(), false).find("steps 6 to 8 may hold wrong results, and no checkpoint"),
            std::string::npos);
  remember_checkpoint(5);
  EXPECT_EQ(follows(6, evict_second(), false),
            "steps 6 to 8 may hold wrong results; the run goes back to tiny-5");
  EXPECT_EQ(follows(8, evict_second(), true),
            "step 8 may hold wrong results; the last checkpoint without them "
            "is tiny-5: go on with --resume");
  const Judgement unsure{Judgement::Act::evict, {1}, false};
  EXPECT_EQ(follows(6, unsure, false).find("the newcomer is turned away"), 0u);
}

TEST_F(CorruptionReport, OneEventNamesEachReplicaThatIsWrong) {
  const auto events =
      corrupt_events(second_differs(Bits::gradient), evict_second(), job_.run, job_.checkpoints);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].name, "corrupt");
  EXPECT_EQ(events[0].integer("replica"), 1);
  EXPECT_EQ(events[0].text("what"), "gradients");
  EXPECT_EQ(events[0].text("action"), "evicted");
  const auto nobody = corrupt_events(second_differs(Bits::gradient), {Judgement::Act::again, {}, true},
                                     job_.run, job_.checkpoints);
  ASSERT_EQ(nobody.size(), 1u);
  EXPECT_FALSE(nobody[0].has("replica"));
}

TEST_F(CorruptionReport, AdviceComparesTheHardwareOfTwoGroups) {
  const Judgement nobody{Judgement::Act::stop, {}, true};
  EXPECT_EQ(advice_of(second_differs(Bits::weights), nobody, job_.membership()),
            "no majority tells which of them is right");
  EXPECT_EQ(advice_of(second_differs(Bits::gradient), nobody, job_.membership()).find("both compute with"),
            0u);
}

TEST_F(CorruptionReport, AdviceNamesWhoDiffersFromTheMajority) {
  const Judgement second{Judgement::Act::stop, {1}, true};
  EXPECT_EQ(advice_of(second_differs(Bits::weights), second, job_.membership()),
            "replica 1 differs from the majority");
  EXPECT_EQ(advice_of(second_differs(Bits::gradient), second, job_.membership())
                .find("replica 1 differs from the majority; both compute with"),
            0u);
  const Judgement newcomers{Judgement::Act::stop, {1, 2}, false};
  EXPECT_EQ(advice_of(second_differs(Bits::weights), newcomers, job_.membership()),
            "replica 1, replica 2 differ from all who were there before");
}

}  // namespace
}  // namespace muster
