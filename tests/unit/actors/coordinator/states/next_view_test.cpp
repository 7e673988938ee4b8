#include "actors/coordinator/states/next_view.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

Checkpointed checkpoint(const std::string& manifest, std::uint64_t step) {
  Checkpointed checkpoint;
  checkpoint.manifest = manifest;
  checkpoint.step = step;
  checkpoint.records = step + 2;
  return checkpoint;
}

// Whose state was dealt in view 3, with as many records; replica 1 misses some.
View proposed(std::uint64_t records = 20) {
  View view;
  view.number = 5;
  view.records = records;
  view.source.view = 3;
  view.donor = 0;
  view.behind = {{1, records - 1}};
  for (const std::uint32_t slot : {0u, 1u}) {
    Member member;
    member.name = {false, slot};
    member.clean = 15;
    view.replicas.push_back(member);
  }
  return view;
}

View before(bool back = false) {
  View view;
  view.number = 4;
  view.back = back;
  view.source = {0, {}, "of the view before", 6, 4};
  return view;
}

TEST(NextView, GoesOnWithWhatItsMembersHold) {
  View view = proposed();
  EXPECT_EQ(decide_start(view, before(), {}), ViewStart::goes_on);
  EXPECT_EQ(view.source.view, 3u);
  EXPECT_EQ(view.records, 20u);
  EXPECT_FALSE(view.back);
  EXPECT_EQ(view.behind.size(), 1u);
}

TEST(NextView, BeginsWithTheLastCheckpointWherePartsAreLost) {
  View view = proposed();
  ViewStartFacts facts;
  facts.parts_lost = true;
  facts.last = checkpoint("last", 10);
  EXPECT_EQ(decide_start(view, before(), facts), ViewStart::goes_on);
  EXPECT_EQ(view.source.view, 0u);
  EXPECT_EQ(view.source.checkpoint, "last");
  EXPECT_EQ(view.records, 12u);
  EXPECT_TRUE(view.behind.empty());
  EXPECT_EQ(view.replicas[0].clean, 10u) << "later steps are done again";
  EXPECT_FALSE(view.back) << "nothing is wrong";
}

TEST(NextView, TakesAnotherCheckpointWhereNobodyCouldReadThatOfTheViewBefore) {
  ViewStartFacts facts;
  facts.source_is_void = true;
  facts.last = checkpoint("last", 10);
  View dealt = proposed();
  decide_start(dealt, before(), facts);
  EXPECT_EQ(dealt.source.view, 3u) << "its state is not on the disk";
  View on_disk = proposed();
  on_disk.source = {0, {}, "void", 17, 15};
  EXPECT_EQ(decide_start(on_disk, before(), facts), ViewStart::goes_on);
  EXPECT_EQ(on_disk.source.checkpoint, "last");
}

TEST(NextView, GoesBackBeforeWhatMayBeWrong) {
  View view = proposed();
  ViewStartFacts facts;
  facts.suspects = true;
  facts.good = checkpoint("good", 8);
  EXPECT_EQ(decide_start(view, before(), facts), ViewStart::before_suspects);
  EXPECT_TRUE(view.back);
  EXPECT_EQ(view.source.checkpoint, "good");
  EXPECT_EQ(view.source.step, 8u);
  EXPECT_EQ(view.records, 10u);
  EXPECT_TRUE(view.behind.empty());
  EXPECT_EQ(view.replicas[1].clean, 8u);
}

TEST(NextView, AGoodCheckpointCountsOnlyForSuspects) {
  View view = proposed();
  ViewStartFacts facts;
  facts.good = checkpoint("good", 8);
  EXPECT_EQ(decide_start(view, before(), facts), ViewStart::goes_on);
  EXPECT_FALSE(view.back);
}

TEST(NextView, KeepsWhatMayBeWrongWhereThereIsNothingToGoBackTo) {
  View view = proposed();
  ViewStartFacts facts;
  facts.suspects = true;
  EXPECT_EQ(decide_start(view, before(), facts), ViewStart::keeps_suspects);
  EXPECT_FALSE(view.back);
  EXPECT_EQ(view.records, 20u);
}

TEST(NextView, BeginsAnewWherePartsAreLostAndNoCheckpointIsGood) {
  View view = proposed();
  ViewStartFacts facts;
  facts.suspects = true;
  facts.parts_lost = true;  // and the last checkpoint is the beginning
  EXPECT_EQ(decide_start(view, before(), facts), ViewStart::anew);
  EXPECT_TRUE(view.back);
  EXPECT_EQ(view.records, 0u);
  EXPECT_TRUE(view.source.checkpoint.empty());
}

TEST(NextView, GoesBackAgainUntilThatHasTakenEffect) {
  ViewStartFacts facts;
  facts.took = 3;
  View again = proposed();
  EXPECT_EQ(decide_start(again, before(true), facts), ViewStart::again);
  EXPECT_TRUE(again.back);
  EXPECT_EQ(again.source.checkpoint, "of the view before");
  EXPECT_EQ(again.records, 6u);
  facts.took = 4;
  View after = proposed();
  EXPECT_EQ(decide_start(after, before(true), facts), ViewStart::goes_on);
  EXPECT_FALSE(after.back);
}

TEST(NextView, ReadsACheckpointWhenAllGoBackOrPartsAreOnTheDisk) {
  View view = proposed();
  EXPECT_FALSE(reads_checkpoint(view, true));
  view.source.view = 0;
  EXPECT_TRUE(reads_checkpoint(view, true));
  EXPECT_FALSE(reads_checkpoint(view, false));
  view.back = true;
  EXPECT_TRUE(reads_checkpoint(view, false));
}

TEST(NextView, TellsItsMembersTheTermAndTheAttempt) {
  ViewFacts facts;
  facts.term = 7;
  facts.history = 9;
  facts.dropping = {11, {{0, 1}}};
  facts.doubted = {4, 6};
  const View view = complete_view(proposed(), facts);
  EXPECT_EQ(view.term, 7u);
  EXPECT_EQ(view.history, 9u);
  EXPECT_EQ(view.dropping, facts.dropping);
  EXPECT_EQ(view.doubted_from, 4u);
  EXPECT_EQ(view.doubted_to, 6u);
  EXPECT_TRUE(view.unproven.empty());
}

TEST(NextView, ComparesAllReplicasInStepsThatAreInDoubt) {
  ViewFacts facts;
  facts.doubted = {4, 6};
  facts.compared = {{8, 9}};
  const View view = complete_view(proposed(), facts);
  EXPECT_EQ(view.doubted_from, 8u);
  EXPECT_EQ(view.doubted_to, 9u);
  EXPECT_EQ(view.unproven, (std::vector<std::uint32_t>{0, 1}));
}

TEST(NextView, TellsItsMembersTheLastCheckpointIfTheyDoNotReadOne) {
  ViewFacts facts;
  facts.last = checkpoint("last", 10);
  EXPECT_EQ(complete_view(proposed(), facts).source.checkpoint, "last");
  View newer = proposed();
  newer.source.records = 12;
  EXPECT_EQ(complete_view(newer, facts).source.checkpoint, "") << "it is no newer";
  View on_disk = proposed();
  on_disk.source = {0, {}, "good", 3, 1};
  EXPECT_EQ(complete_view(on_disk, facts).source.checkpoint, "good");
}

TEST(NextView, ReplicasThatAreBehindHoldWhatTheDonorGivesThem) {
  View view = complete_view(proposed(), {});
  EXPECT_EQ(view.replicas[0].holds_of, (std::set<std::uint32_t>{}));
  EXPECT_EQ(view.replicas[1].holds_of, (std::set<std::uint32_t>{0}));
}

TEST(NextView, FromWhichStepAReplicaIsAlone) {
  ViewFacts facts;
  facts.steps = 18;
  EXPECT_EQ(complete_view(proposed(), facts).replicas[0].alone_from, 0u) << "there are two";
  View alone = proposed();
  alone.replicas.pop_back();
  EXPECT_EQ(complete_view(alone, facts).replicas[0].alone_from, 19u);
  View back = alone;
  back.back = true;
  back.source = {0, {}, "good", 10, 8};
  EXPECT_EQ(complete_view(back, facts).replicas[0].alone_from, 9u);
  alone.replicas[0].alone_from = 5;
  EXPECT_EQ(complete_view(alone, facts).replicas[0].alone_from, 5u) << "since then";
}

// Who reads a checkpoint was given nothing by another member.
TEST(NextView, ReplicasThatReadACheckpointHoldWhatNobodyGaveThem) {
  View view = proposed();
  view.source.view = 0;
  view.replicas[0].holds_of = {1};
  ViewFacts facts;
  EXPECT_EQ(complete_view(view, facts).replicas[0].holds_of, (std::set<std::uint32_t>{1}));
  facts.in_parts = true;
  EXPECT_TRUE(complete_view(view, facts).replicas[0].holds_of.empty());
  facts.in_parts = false;
  view.back = true;
  EXPECT_TRUE(complete_view(view, facts).replicas[0].holds_of.empty());
}

TEST(NextView, GoesBackAgainThoughNoGoodCheckpointIsLeft) {
  View view = proposed();
  ViewStartFacts facts;
  facts.suspects = true;
  facts.took = 3;
  EXPECT_EQ(decide_start(view, before(true), facts), ViewStart::again);
  EXPECT_EQ(view.source.checkpoint, "of the view before");
  EXPECT_TRUE(view.back);
}

TEST(NextView, LostPartsAreGivenUpBeforeItGoesBackAgain) {
  View view = proposed();
  ViewStartFacts facts;
  facts.parts_lost = true;
  facts.last = checkpoint("last", 10);
  facts.took = 3;
  EXPECT_EQ(decide_start(view, before(true), facts), ViewStart::again);
  EXPECT_EQ(view.source.checkpoint, "of the view before");
  facts.suspects = true;
  view = proposed();
  EXPECT_EQ(decide_start(view, before(), facts), ViewStart::keeps_suspects);
  EXPECT_EQ(view.source.checkpoint, "last") << "it may be wrong, and is all that there is";
  EXPECT_FALSE(view.back);
}

}  // namespace
}  // namespace muster
