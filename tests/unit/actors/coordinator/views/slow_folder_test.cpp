// A folder of checkpoints whose disk makes every call of the coordinator, and answers none in time.
#include <gtest/gtest.h>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/coordinator/run_ending.hpp"
#include "tests/support/faulty_disk.hpp"
#include "tests/support/gated_disk.hpp"
#include "tests/support/slow_disk.hpp"
#include "tests/support/tiny_checkpoint.hpp"
#include "tests/unit/actors/coordinator/part_test.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
using testing::try_again_until;

const std::string kSlowHash(64, 'a');
constexpr std::uint64_t kSlowAttempt = (std::uint64_t{7} << kAttemptBits) + 1;

// Two replicas of the job "tiny" train in view 1. What a test does itself it does to `disk_`, while nothing
// is asked of the slow one.
class SlowFolderTest : public PartTest {
 protected:
  SlowFolderTest() : PartTest(std::make_unique<RunningJob>(2)) {
    job_.run.setup.job.name = "tiny";
    job_.run.setup.job.cluster.give_up_after = 600s;
    job_.run.setup.job_hash = kSlowHash;
    job_.run.setup.checkpoints = slow_;
    job_.checkpoints.verdicts.begin(kSlowAttempt);
    job_.checkpoints.known =
        std::make_unique<KnownCheckpoints>(slow_, job_.run.setup.job, kSlowHash, job_.checkpoints.verdicts);
  }

  std::string save(std::uint64_t step) {
    Snapshot snapshot;
    snapshot.history = kSlowAttempt;
    snapshot.place.records = snapshot.place.steps = step;
    snapshot.place.cursor = {Mode::train, 1, step};
    snapshot.state.assign(4, static_cast<float>(step));
    return CheckpointStore(disk_, testing::tiny_identity(kSlowHash)).save(snapshot, 100).manifest;
  }
  static Checkpointed report_of(const std::string& manifest, std::uint64_t step) {
    Checkpointed report;
    report.manifest = manifest;
    report.records = report.step = step;
    report.view = 1;
    return report;
  }
  ~SlowFolderTest() override { gate_->open(); }
  KnownCheckpoints& known() { return *job_.checkpoints.known; }
  AttemptVerdicts& verdicts() { return job_.checkpoints.verdicts; }
  // The disk has answered: nothing is asked of it any more.
  void await_marks() {
    try_again_until([this] {
      suspects_.mark_suspects_again();
      return verdicts().marked();
    });
  }

  std::shared_ptr<FaultyDisk> disk_ = std::make_shared<FaultyDisk>();
  std::shared_ptr<testing::Gate> gate_ = std::make_shared<testing::Gate>();
  std::shared_ptr<Disk> slow_ = testing::slow_disk(std::make_shared<testing::GatedDisk>(disk_, gate_));
  RunEnding ending_{job_.run, job_.checkpoints, {keeper_, suspects_, rollback_, arrivals_}, port_, actions_};
};

TEST_F(SlowFolderTest, ItIsReadInTheEnd) {
  save(2);
  const std::string last = save(4);
  known().know_of_one();
  gate_->close();
  EXPECT_TRUE(known().is_away());
  gate_->open();
  try_again_until([this] { return !known().hidden_before(10); });
  ASSERT_TRUE(known().good_before(10));
  EXPECT_EQ(known().good_before(10)->manifest, last);
  EXPECT_FALSE(known().is_away());
}

TEST_F(SlowFolderTest, CheckpointsThatMayBeWrongAreMarkedInTheEnd) {
  save(2);
  save(5);
  gate_->close();
  suspects_.suspect(4, true);
  EXPECT_FALSE(verdicts().marked());
  gate_->open();
  await_marks();
  EXPECT_FALSE(verdicts().suspects_stay());
  EXPECT_EQ(read_verdicts(*disk_, kSlowHash), (std::vector<Verdict>{{kSlowAttempt, 4}}));
  EXPECT_EQ(port_.events.back().text("text"), "the checkpoints that may hold wrong results are marked now");
}

TEST_F(SlowFolderTest, SeveralVerdictsAreMarkedTogether) {
  save(2);
  verdicts().add(9);
  suspects_.suspect(4, true);
  await_marks();
  EXPECT_EQ(read_verdicts(*disk_, kSlowHash), (std::vector<Verdict>{{kSlowAttempt, 4}}));
}

TEST_F(SlowFolderTest, ARunThatIsToGoBackDoesSo) {
  const std::string good = save(2);
  save(5);
  known().know_of_one();
  job_.checkpoints.suspects.suspect(4);
  try_again_until([this] {
    port_.time += 1s;
    return !rollback_.waits_for_folder(job_.run.view, false);
  });
  ASSERT_TRUE(known().good_before(4));
  EXPECT_EQ(known().good_before(4)->manifest, good);
  EXPECT_EQ(actions_.all, PartTexts{}) << "it has not failed";
}

// What was read before it was written says nothing of it.
TEST_F(SlowFolderTest, ACheckpointThatIsReportedMeanwhileIsNotGone) {
  const std::string first = save(2);
  gate_->close();
  known().look();
  gate_->open();
  try_again_until([this] {
    const bool answered = known().can_be_listed();
    known().look();
    return answered;
  });
  const std::string next = save(4);
  EXPECT_TRUE(known().is_gone(next)) << "so it would seem";
  ending_.on(report_of(next, 4));
  EXPECT_EQ(known().last().manifest, next);
  EXPECT_FALSE(known().is_gone(next)) << "the disk has not answered";
  try_again_until([this] { return known().can_be_listed(); });
  EXPECT_FALSE(known().is_gone(next));
  EXPECT_TRUE(known().finds(next));
}

TEST_F(SlowFolderTest, ARunWhoseCheckpointsMayBeWrongEndsWhenTheyAreMarked) {
  save(5);
  gate_->close();
  suspects_.suspect(4, true);
  ending_.conclude("failed", "corrupt");
  ending_.finish();
  EXPECT_FALSE(job_.run.end.finished());
  gate_->open();
  await_marks();
  ending_.finish();
  EXPECT_TRUE(job_.run.end.finished());
  EXPECT_FALSE(verdicts().suspects_stay());
}

TEST_F(SlowFolderTest, ARunEndsWithoutMarksInTheEnd) {
  gate_->close();
  suspects_.suspect(4, true);
  ending_.conclude("failed", "corrupt");
  ending_.finish();
  EXPECT_FALSE(job_.run.end.finished());
  port_.time += 10s;
  ending_.finish();
  EXPECT_TRUE(job_.run.end.finished());
}

TEST_F(SlowFolderTest, ARunWhoseCoordinatorFailsWaitsForNoMarks) {
  gate_->close();
  suspects_.suspect(4, true);
  ending_.conclude("failed", "a bug");
  ending_.finish_at_once();
  EXPECT_TRUE(job_.run.end.finished());
}

}  // namespace
}  // namespace muster
