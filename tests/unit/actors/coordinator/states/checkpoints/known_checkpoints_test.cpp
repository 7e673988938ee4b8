#include "actors/coordinator/states/checkpoints/known_checkpoints.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "tests/support/faulty_disk.hpp"
#include "tests/support/tiny_checkpoint.hpp"

namespace muster {
namespace {

const std::string kJobHash(64, 'a');
constexpr std::uint64_t kRun = std::uint64_t{7} << kAttemptBits;
constexpr std::uint64_t kOtherRun = std::uint64_t{8} << kAttemptBits;

// Its server may be away, it may be not mounted, and it may refuse to read one file.
struct RemoteDisk : FaultyDisk {
  std::vector<File> list() override {
    if (away) throw DiskError(EIO, "no answer");
    return mounted ? FaultyDisk::list() : std::vector<File>{};
  }
  Bytes read(const std::string& name) override {
    if (away || name == unreadable) throw DiskError(EIO, "no answer");
    if (!mounted) throw DiskError(ENOENT, "there is none");
    return FaultyDisk::read(name);
  }
  bool away = false, mounted = true;
  std::string unreadable;
};

Job job_keeping(std::uint32_t keep) {
  Job job;
  job.name = "tiny";
  job.checkpoint.keep = keep;
  return job;
}

Checkpointed report(const std::string& manifest, std::uint64_t step, std::uint32_t view = 1) {
  Checkpointed report;
  report.manifest = manifest;
  report.records = report.step = step;
  report.view = view;
  return report;
}

PartSource source(const std::string& manifest, std::uint64_t step) {
  return {0, {}, manifest, step, step};
}

class KnownCheckpointsTest : public ::testing::Test {
 protected:
  KnownCheckpointsTest() : store_(disk_, testing::tiny_identity(kJobHash)) { verdicts_.begin(kRun + 1); }

  // Returns its manifest.
  std::string save(std::uint64_t step, std::uint64_t history = kRun + 1) {
    Snapshot snapshot;
    snapshot.history = history;
    snapshot.place.records = snapshot.place.steps = step;
    snapshot.place.cursor = {Mode::train, 1, step};
    snapshot.state.assign(4, static_cast<float>(step));
    return store_.save(snapshot, 100).manifest;
  }
  std::string good_before(std::uint64_t step) {
    const auto good = known_.good_before(step);
    return good ? good->manifest : "";
  }

  std::shared_ptr<RemoteDisk> disk_ = std::make_shared<RemoteDisk>();
  CheckpointStore store_;
  AttemptVerdicts verdicts_;
  KnownCheckpoints known_{disk_, job_keeping(2), kJobHash, verdicts_};
};

TEST_F(KnownCheckpointsTest, AJobWithoutAFolderHasNone) {
  KnownCheckpoints none(nullptr, job_keeping(2), kJobHash, verdicts_);
  none.look();
  none.know_of_one();
  EXPECT_FALSE(none.is_away());
  EXPECT_TRUE(none.can_be_listed());
  EXPECT_FALSE(none.hidden_before(10));
  EXPECT_FALSE(none.last_before(10));
  EXPECT_FALSE(none.good_before(10));
  EXPECT_FALSE(none.is_gone("x"));
  EXPECT_FALSE(none.is_missed("x"));
}

TEST_F(KnownCheckpointsTest, AFolderThatHeldSomeAndIsEmptyIsAway) {
  EXPECT_FALSE(known_.is_away()) << "it may be another host's";
  save(4);
  known_.look();
  EXPECT_FALSE(known_.is_away());
  disk_->mounted = false;
  EXPECT_TRUE(known_.is_away());
  EXPECT_TRUE(known_.hidden_before(5));
  disk_->mounted = true;
  EXPECT_FALSE(known_.is_away());
  EXPECT_FALSE(known_.hidden_before(5));
}

TEST_F(KnownCheckpointsTest, AFolderThatCannotBeReadIsAwayIfOneIsKnownOf) {
  disk_->away = true;
  known_.look();
  EXPECT_FALSE(known_.is_away());
  EXPECT_FALSE(known_.can_be_listed());
  known_.know_of_one();
  EXPECT_TRUE(known_.is_away());
}

TEST_F(KnownCheckpointsTest, TheLastBeforeAStepIsOfThisRunIfThereIsOne) {
  const std::string of_other = save(6, kOtherRun + 1);
  EXPECT_EQ(known_.last_before(10)->manifest, of_other);
  EXPECT_FALSE(known_.last_of_run_before(10));
  const std::string early = save(3), late = save(5);
  EXPECT_EQ(known_.last_before(10)->manifest, late);
  EXPECT_EQ(known_.last_of_run_before(10)->manifest, late);
  EXPECT_EQ(known_.last_before(5)->manifest, early);
}

TEST_F(KnownCheckpointsTest, OneWithAVerdictOnItIsNotThere) {
  const std::string early = save(3), late = save(5);
  known_.look();
  verdicts_.add(4);
  EXPECT_EQ(known_.last_before(10)->manifest, early);
  EXPECT_FALSE(known_.finds(late));
  EXPECT_TRUE(known_.is_gone(late));
  EXPECT_FALSE(known_.is_gone(early));
}

TEST_F(KnownCheckpointsTest, OneThatIsNotInTheFolderAnyMoreIsGoneUnlessTheFolderIsAway) {
  save(3);
  known_.look();
  EXPECT_TRUE(known_.is_gone("tiny-9.json"));
  disk_->mounted = false;
  EXPECT_FALSE(known_.is_gone("tiny-9.json"));
}

TEST_F(KnownCheckpointsTest, AReportCountsWhereItIsNewerThanTheFolder) {
  const std::string in_folder = save(3);
  known_.reported(report("reported", 5));
  EXPECT_EQ(good_before(10), "reported") << "the folder may be another host's";
  EXPECT_EQ(good_before(5), in_folder);
  known_.look();
  EXPECT_EQ(good_before(10), in_folder) << "it is gone";
}

TEST_F(KnownCheckpointsTest, AsManyReportsAreRememberedAsStayInTheFolder) {
  disk_->away = true;
  known_.reported(report("at 2", 2));
  known_.reported(report("at 4", 4));
  known_.reported(report("at 6", 6));
  EXPECT_EQ(known_.last().manifest, "at 6");
  EXPECT_EQ(good_before(6), "at 4");
  EXPECT_EQ(good_before(4), "");
  known_.forget_from(4);
  EXPECT_EQ(good_before(6), "");
  EXPECT_EQ(good_before(7), "at 6") << "it is the last one still";
  known_.fall_back_before(6);
  EXPECT_FALSE(known_.any());
}

TEST_F(KnownCheckpointsTest, WithStateInPartsTwoReportsAreRemembered) {
  Job job = job_keeping(1);
  job.train.shard_optimizer = true;
  ASSERT_TRUE(job.train.in_parts());
  disk_->away = true;
  KnownCheckpoints known(disk_, job, kJobHash, verdicts_);
  known.reported(report("at 2", 2));
  known.reported(report("at 4", 4));
  EXPECT_TRUE(known.good_before(4));
  known.reported(report("at 6", 6));
  EXPECT_FALSE(known.good_before(4));
}

TEST_F(KnownCheckpointsTest, AnOlderReportDoesNotReplaceTheLastOne) {
  known_.reported(report("at 4", 4));
  known_.reported(report("at 2", 2));
  EXPECT_EQ(known_.last().manifest, "at 4");
}

TEST_F(KnownCheckpointsTest, OneThatIsPassedOverIsReplacedByTheOneBefore) {
  const std::string early = save(3), late = save(5);
  known_.look();
  known_.go_on_from(report(late, 5));
  known_.pass_over(source(late, 5), 4, false);
  EXPECT_TRUE(known_.is_passed_over(late));
  EXPECT_TRUE(known_.passed_over_any());
  EXPECT_EQ(known_.last().manifest, early);
  EXPECT_EQ(known_.last_before(10)->manifest, early);
  EXPECT_EQ(good_before(10), early);
}

TEST_F(KnownCheckpointsTest, ANewerOneStaysWhenTheOneOfTheViewIsPassedOver) {
  save(3);
  const std::string of_view = save(5), newer = save(7);
  known_.go_on_from(report(newer, 7));
  known_.pass_over(source(of_view, 5), 4, false);
  EXPECT_EQ(known_.last().manifest, newer);
  known_.pass_over(source(of_view, 5), 4, true);
  EXPECT_EQ(known_.last().step, 3u) << "results behind it may be wrong";
}

TEST_F(KnownCheckpointsTest, OneThatIsWrittenAnewIsPassedOverNoMore) {
  known_.pass_over(source("at 5", 5), 4, false);
  EXPECT_TRUE(known_.refuses(report("at 5", 5, 4)));
  EXPECT_FALSE(known_.refuses(report("at 6", 6, 4)));
  EXPECT_FALSE(known_.refuses(report("at 5", 5, 5)));
  EXPECT_FALSE(known_.is_passed_over("at 5"));
}

TEST_F(KnownCheckpointsTest, ARestartedCoordinatorGoesOnFromWhatMembersWroteMeanwhile) {
  known_.go_on_from(source("at 2", 2), kRun + 1);
  EXPECT_EQ(known_.last().manifest, "at 2");
  EXPECT_TRUE(known_.last_is_known());
  const std::string newer = save(5);
  known_.go_on_from(source("at 2", 2), kRun + 2);
  EXPECT_EQ(known_.last().manifest, "at 2") << "of an attempt that all went back behind";
  known_.go_on_from(source("at 2", 2), kRun + 1);
  EXPECT_EQ(known_.last().manifest, newer);
  EXPECT_EQ(known_.last().path, disk_->folder() + "/" + known_.last_before(10)->weights);
}

TEST_F(KnownCheckpointsTest, WhatAJournalNamesIsKnownWhenTheFolderCanBeRead) {
  const std::string there = save(5);
  disk_->away = true;
  known_.go_on_from(source("at 2", 2), kRun + 1);
  EXPECT_FALSE(known_.last_is_known());
  known_.take_newer_before(10);
  EXPECT_FALSE(known_.last_is_known());
  disk_->away = false;
  known_.take_newer_before(5);
  EXPECT_FALSE(known_.last_is_known());
  known_.take_newer_before(10);
  EXPECT_TRUE(known_.last_is_known());
  EXPECT_EQ(known_.last().manifest, there);
}

TEST_F(KnownCheckpointsTest, AReportMakesTheLastOneKnown) {
  disk_->away = true;
  known_.go_on_from(source("at 2", 2), kRun + 1);
  known_.reported(report("at 2", 2));
  EXPECT_TRUE(known_.last_is_known());
}

TEST_F(KnownCheckpointsTest, OneThatCannotBeReadMayBeBetterThanThoseThatCan) {
  save(3);
  disk_->unreadable = save(5);
  known_.look();
  EXPECT_TRUE(known_.hidden_before(10));
  EXPECT_FALSE(known_.hidden_before(5));
  known_.pass_over(source(disk_->unreadable, 5), 4, false);
  EXPECT_FALSE(known_.hidden_before(10)) << "replicas could not go back to it";
}

TEST_F(KnownCheckpointsTest, AReplicaMissesOneThatTheCoordinatorSees) {
  const std::string there = save(5);
  known_.look();
  EXPECT_TRUE(known_.is_missed(there));
  EXPECT_FALSE(known_.is_missed("tiny-9.json")) << "nobody sees it";
  disk_->unreadable = there;
  save(7);
  EXPECT_TRUE(known_.is_missed(there)) << "it may be there";
  disk_->mounted = false;
  EXPECT_FALSE(known_.is_missed(there)) << "the coordinator does not see the folder either";
}

TEST_F(KnownCheckpointsTest, InAnEmptyFolderAllAreMissed) {
  EXPECT_TRUE(known_.is_missed("at 5"));
}

TEST_F(KnownCheckpointsTest, AFolderThatIsHeldStaysAsItWas) {
  const std::string early = save(3);
  known_.hold();
  const std::string late = save(5);
  EXPECT_EQ(known_.last_before(10)->manifest, early);
  known_.hold();
  EXPECT_EQ(known_.last_before(10)->manifest, late);
  verdicts_.add(5);
  EXPECT_EQ(known_.last_before(10)->manifest, early) << "a verdict counts at once";
  const std::string last = save(4);
  known_.look_anew();
  EXPECT_EQ(known_.last_before(10)->manifest, last);
}

}  // namespace
}  // namespace muster
