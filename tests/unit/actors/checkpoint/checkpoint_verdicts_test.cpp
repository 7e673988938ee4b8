// Checkpoints that one writes who has not heard that the run went back before them.
#include "actors/checkpoint/checkpoint_verdicts.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "tests/support/faulty_disk.hpp"
#include "tests/unit/actors/checkpoint/small_checkpoints.hpp"

namespace muster {
namespace {

using Verdicts = std::vector<Verdict>;

Snapshot of_history(std::uint64_t history, std::uint64_t step) {
  Snapshot snapshot = snapshot_at(step);
  snapshot.history = history;
  return snapshot;
}

// Something happens just before the folder is listed for the second time, which is when a checkpoint is
// written, and others are to be removed: a thread stood still there.
class DiskWithAPause final : public Disk {
 public:
  DiskWithAPause(std::shared_ptr<Disk> disk, std::function<void()> meanwhile)
      : disk_(std::move(disk)), meanwhile_(std::move(meanwhile)) {}

  std::string folder() const override { return disk_->folder(); }
  std::vector<File> list() override {
    const auto meanwhile = ++listed_ == 2 ? std::exchange(meanwhile_, nullptr) : nullptr;
    if (meanwhile) meanwhile();
    return disk_->list();
  }
  Bytes read(const std::string& name) override { return disk_->read(name); }
  void write(const std::string& name, Pieces pieces) override { disk_->write(name, pieces); }
  void rename(const std::string& from, const std::string& to) override { disk_->rename(from, to); }
  void remove(const std::string& name) override { disk_->remove(name); }
  void sync_folder() override { disk_->sync_folder(); }
  std::uint64_t writer() const override { return disk_->writer() + 1; }

 private:
  std::shared_ptr<Disk> disk_;
  std::function<void()> meanwhile_;
  int listed_ = 0;
};

class ACheckpointThatComesLate : public ::testing::Test {
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

// As a slow disk makes it: the file of the new attempt has the same step, weights and records.
TEST_F(ACheckpointThatComesLate, OverwritesNothingOfTheNewAttempt) {
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
  EXPECT_EQ(attempt_of(first), 1u);
  EXPECT_EQ(attempt_of(second), 1u);
  EXPECT_FALSE(goes_before(first, second));
  EXPECT_FALSE(goes_before(first, other) || goes_before(other, first)) << "both begin in one folder at once";
  EXPECT_EQ(history_after(first, {first + 1, second, other}), first + 2);
  store_.save(of_history(first, 8), 9);
  judge(second, 5);
  set_checkpoints_aside(*disk_, identity().job_hash, 4, second);
  ASSERT_TRUE(store_.newest().newest) << "the verdict is on another run";
  EXPECT_EQ(store_.newest().newest->manifest.step, 8u);
}

// It was written before the verdict, and its thread stood still until all had gone back, and on.
TEST_F(ACheckpointThatComesLate, RemovesNothingOfThoseWhoWentOn) {
  const auto good = store_.save(of_history(1, 4), 9);
  const auto late_disk = std::make_shared<DiskWithAPause>(disk_, [this] {
    judge(1, 5);
    store_.save(of_history(2, 5), 9);
  });
  CheckpointStore late(late_disk, identity());
  late.save(of_history(1, 8), 1);
  EXPECT_TRUE(disk_->holds(good.manifest));
  ASSERT_TRUE(store_.newest().newest);
  EXPECT_EQ(store_.newest().newest->manifest.step, 5u);
  EXPECT_EQ(store_.newest().newest->manifest.history, 2u);
}

TEST_F(ACheckpointThatComesLate, IsNotReadByItsNameEither) {
  const auto saved = store_.save(of_history(1, 8), 9);
  judge(1, 5);
  std::string why;
  EXPECT_FALSE(store_.load(saved.manifest, why));
  EXPECT_NE(why.find("may hold wrong results"), std::string::npos) << why;
}

TEST_F(ACheckpointThatComesLate, AResumeUnderAnotherNameBeginsARunOfItsOwn) {
  const std::uint64_t of_a = first_history(identity().job, {});
  const auto saved = store_.save(of_history(of_a, 8), 9);
  EXPECT_EQ(next_history(*disk_, identity().job, identity().job_hash, saved.manifest), of_a + 1);
  const std::uint64_t of_b = next_history(*disk_, "another", identity().job_hash, saved.manifest);
  EXPECT_FALSE(of_one_run(of_a, of_b)) << "its verdicts are none on those who go on under the first name";
}

TEST_F(ACheckpointThatComesLate, ADamagedFileOfVerdictsIsNotTakenForNone) {
  judge(1, 5);
  disk_->tear(verdicts_name(identity().job_hash));
  EXPECT_THROW(verdicts(), DiskError);
  EXPECT_THROW(judge(1, 7), DiskError) << "it would replace what cannot be read";
  EXPECT_THROW(store_.newest(), DiskError);
}

TEST_F(ACheckpointThatComesLate, AnotherJobsVerdictIsNone) {
  add_verdict(*disk_, std::string(64, 'b'), {9, 1});
  store_.save(of_history(1, 4), 3);
  EXPECT_EQ(store_.newest().newest->manifest.step, 4u);
}

}  // namespace
}  // namespace muster
