// Checkpoints that one writes who has not heard that the run went back before them.
#include "muster/actors/checkpoint_verdicts.hpp"

#include <gtest/gtest.h>

#include "tests/support/faulty_disk.hpp"
#include "tests/unit/actors/small_checkpoints.hpp"

namespace muster {
namespace {

using Verdicts = std::vector<Verdict>;

Snapshot of_history(std::uint64_t history, std::uint64_t step) {
  Snapshot snapshot = snapshot_at(step);
  snapshot.history = history;
  return snapshot;
}

class ACheckpointThatComesLate : public testing::Test {
 protected:
  void judge(std::uint64_t history, std::uint64_t from_step) {
    add_verdict(*disk_, identity().job_hash, {history, from_step});
  }
  Verdicts verdicts() { return read_verdicts(*disk_, identity().job_hash); }

  std::shared_ptr<FaultyDisk> disk_ = std::make_shared<FaultyDisk>();
  CheckpointStore store_{disk_, identity()};
};

TEST_F(ACheckpointThatComesLate, VerdictsCountForTheirHistoryAndThoseBefore) {
  EXPECT_EQ(verdicts(), Verdicts{});
  judge(2, 20);
  EXPECT_EQ(verdicts(), (Verdicts{{2, 20}}));
  EXPECT_TRUE(is_void(verdicts(), 2, 20));
  EXPECT_TRUE(is_void(verdicts(), 1, 99));
  EXPECT_FALSE(is_void(verdicts(), 2, 19));
  EXPECT_FALSE(is_void(verdicts(), 3, 20)) << "it was computed anew";
}

TEST_F(ACheckpointThatComesLate, AVerdictThatSaysMoreReplacesAnother) {
  judge(2, 20);
  judge(1, 30);
  EXPECT_EQ(verdicts(), (Verdicts{{2, 20}})) << "it says nothing new";
  judge(3, 10);
  EXPECT_EQ(verdicts(), (Verdicts{{3, 10}}));
  judge(4, 40);
  EXPECT_EQ(verdicts(), (Verdicts{{3, 10}, {4, 40}}));
}

TEST_F(ACheckpointThatComesLate, IsNotWrittenAndRemovesNothing) {
  const auto good = store_.save(of_history(1, 4), 1);
  judge(1, 5);
  EXPECT_THROW(store_.save(of_history(1, 6), 1), VoidCheckpoint);
  const auto left = list_checkpoints(*disk_, identity().job_hash);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left.front().manifest, good.manifest);
  store_.save(of_history(2, 6), 1);
  EXPECT_EQ(store_.newest().newest->manifest.step, 6u);
}

TEST_F(ACheckpointThatComesLate, IsPassedOverWhereItWasThereBeforeTheVerdictCouldBeRead) {
  store_.save(of_history(1, 4), 3);
  store_.save(of_history(1, 8), 3);
  judge(1, 5);
  const auto found = store_.newest();
  EXPECT_EQ(found.newest->manifest.step, 4u);
  ASSERT_EQ(found.passed_over.size(), 1u);
  EXPECT_TRUE(found.passed_over.front().is_void);
  EXPECT_EQ(list_checkpoints(*disk_, identity().job_hash).size(), 1u);
  EXPECT_EQ(next_history(*disk_, "tiny", identity().job_hash, found.newest->manifest_name), 2u);
}

TEST_F(ACheckpointThatComesLate, WhoIsLateWithSettingAsideTouchesNothingOfTheNewHistory) {
  store_.save(of_history(1, 4), 9);
  store_.save(of_history(1, 8), 9);
  store_.save(of_history(2, 12), 9);
  store_.set_aside(4, 1);
  const auto left = list_checkpoints(*disk_, identity().job_hash);
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left.front().step, 4u);
  EXPECT_EQ(left.back().step, 12u);
}

// As a slow disk makes it: the file of the new course has the same step, weights and records.
TEST_F(ACheckpointThatComesLate, WritesOverNothingOfTheNewCourse) {
  judge(1, 5);
  const auto anew = store_.save(of_history(2, 6), 1);
  EXPECT_THROW(store_.save(of_history(1, 6), 1), VoidCheckpoint);
  store_.set_aside(checkpoint_stem("tiny", 6, anew.weights_sha256, 1) + "-6.manifest.json");
  ASSERT_TRUE(store_.newest().newest);
  EXPECT_EQ(store_.newest().newest->manifest.history, 2u);
}

TEST_F(ACheckpointThatComesLate, ARunThatBeganAnewIsAnotherOne) {
  const std::uint64_t first = first_history("a", {}), second = first_history("a", {first, first + 1});
  const std::uint64_t other = first_history("b", {});
  EXPECT_EQ(course_of(first), 1u);
  EXPECT_EQ(course_of(second), 1u);
  EXPECT_FALSE(goes_before(first, second));
  EXPECT_FALSE(goes_before(first, other) || goes_before(other, first)) << "both begin in one folder at once";
  EXPECT_EQ(history_after(first, {first + 1, second, other}), first + 2);
  store_.save(of_history(first, 8), 9);
  judge(second, 5);
  set_checkpoints_aside(*disk_, identity().job_hash, 4, second);
  ASSERT_TRUE(store_.newest().newest) << "the verdict is on another run";
  EXPECT_EQ(store_.newest().newest->manifest.step, 8u);
}

TEST_F(ACheckpointThatComesLate, AnotherJobsVerdictIsNone) {
  add_verdict(*disk_, std::string(64, 'b'), {9, 1});
  store_.save(of_history(1, 4), 3);
  EXPECT_EQ(store_.newest().newest->manifest.step, 4u);
}

}  // namespace
}  // namespace muster
