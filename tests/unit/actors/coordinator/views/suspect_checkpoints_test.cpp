#include "actors/coordinator/views/suspect_checkpoints.hpp"

#include <gtest/gtest.h>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "tests/support/faulty_disk.hpp"
#include "tests/support/mounted_disk.hpp"
#include "tests/support/tiny_checkpoint.hpp"
#include "tests/unit/actors/coordinator/part_test.hpp"

namespace muster {
namespace {

const std::string kTinyHash(64, 'a');
constexpr std::uint64_t kFirstAttempt = (std::uint64_t{7} << kAttemptBits) + 1;

// Two replicas of the job "tiny" train in view 1. Its folder of checkpoints is on a disk whose changes are in
// the log: "verdict" where it is written down, "set aside" for each checkpoint that is renamed.
class SuspectCheckpointsTest : public PartTest {
 protected:
  struct LoggedDisk final : FaultyDisk {
    explicit LoggedDisk(testing::PartLog& its_log) : log(its_log) {}
    void rename(const std::string& from, const std::string& to) override {
      FaultyDisk::rename(from, to);
      if (to == verdicts_name(kTinyHash)) log.add("verdict");
      if (to.ends_with(kSetAside)) log.add("set aside");
    }
    testing::PartLog& log;
  };

  SuspectCheckpointsTest() : PartTest(std::make_unique<RunningJob>(2)) {
    job_.run.setup.job.name = "tiny";
    job_.run.setup.job_hash = kTinyHash;
    job_.run.setup.checkpoints = mounted_;
    has_a_journal();
    job_.checkpoints.verdicts.begin(kFirstAttempt);
    job_.checkpoints.known = std::make_unique<KnownCheckpoints>(mounted_, job_.run.setup.job, kTinyHash,
                                                                job_.checkpoints.verdicts);
  }

  // A member has written and reported it. Returns its manifest.
  std::string save(std::uint64_t step) {
    Snapshot snapshot;
    snapshot.history = kFirstAttempt;
    snapshot.place.records = snapshot.place.steps = step;
    snapshot.place.cursor = {Mode::train, 1, step};
    snapshot.state.assign(4, static_cast<float>(step));
    const std::string manifest =
        CheckpointStore(disk_, testing::tiny_identity(kTinyHash)).save(snapshot, 100).manifest;
    job_.checkpoints.known->look();
    job_.checkpoints.known->reported({manifest, step, step});
    log_.all.clear();
    return manifest;
  }
  SuspectSteps& suspected() { return job_.checkpoints.suspects; }
  AttemptVerdicts& verdicts() { return job_.checkpoints.verdicts; }
  std::vector<Verdict> in_folder() { return read_verdicts(*disk_, kTinyHash); }

  std::shared_ptr<LoggedDisk> disk_ = std::make_shared<LoggedDisk>(log_);
  std::shared_ptr<Away> away_ = std::make_shared<Away>(Away::no);
  std::shared_ptr<MountedDisk> mounted_ =
      std::make_shared<MountedDisk>(disk_, std::make_shared<bool>(false), away_);
};

// --- steps that may be wrong

TEST_F(SuspectCheckpointsTest, ARunThatGoesOnWithNothingToGoBackToSuspectsNothing) {
  suspects_.suspect(3, false);
  EXPECT_FALSE(suspected().any());
  EXPECT_EQ(log_.all, PartTexts{});
}

TEST_F(SuspectCheckpointsTest, ARunThatEndsSuspectsInAnyCase) {
  suspects_.suspect(3, true);
  EXPECT_EQ(suspected().from(), 3u);
}

TEST_F(SuspectCheckpointsTest, SuspectedStepsAreInTheJournalBeforeTheirCheckpointsAreSetAside) {
  const std::string good = save(2), later = save(4);
  suspects_.suspect(3, false);
  EXPECT_EQ(suspected().from(), 3u);
  EXPECT_EQ(log_.all, (PartTexts{"journal view 1", "verdict", "set aside"}));
  EXPECT_EQ(journal_->entry->suspect_from, 3u);
  EXPECT_EQ(in_folder(), (std::vector<Verdict>{{kFirstAttempt, 3}}));
  EXPECT_FALSE(disk_->holds(later));
  EXPECT_TRUE(disk_->holds(good));
}

TEST_F(SuspectCheckpointsTest, TheLastCheckpointThatCountsIsOneBeforeTheSuspects) {
  const std::string good = save(2);
  save(4);
  suspects_.suspect(3, false);
  EXPECT_EQ(job_.checkpoints.known->last().manifest, good);
}

TEST_F(SuspectCheckpointsTest, ACheckpointBeforeTheSuspectsStaysTheLastOne) {
  const std::string good = save(2);
  suspects_.suspect(3, false);
  EXPECT_EQ(job_.checkpoints.known->last().manifest, good);
}

TEST_F(SuspectCheckpointsTest, WithoutSuspectsTheLastCheckpointStays) {
  const std::string last = save(4);
  suspects_.keep_no_suspect();
  EXPECT_EQ(job_.checkpoints.known->last().manifest, last);
}

TEST_F(SuspectCheckpointsTest, TheRunGoesOnInAnotherAttempt) {
  save(2);
  suspects_.suspect(3, false);
  EXPECT_EQ(verdicts().enter(), kFirstAttempt + 1);
}

TEST_F(SuspectCheckpointsTest, AFolderThatIsAwayMayHoldAGoodOne) {
  save(4);
  *away_ = Away::all;
  suspects_.suspect(3, false);
  EXPECT_EQ(suspected().from(), 3u);
}

TEST_F(SuspectCheckpointsTest, WithoutADoubtNothingIsSuspected) {
  save(2);
  suspects_.suspect_what_is_doubted(true);
  EXPECT_FALSE(suspected().any());
}

TEST_F(SuspectCheckpointsTest, WhatIsDoubtedIsSuspectedWhereTheRunCanGoBack) {
  save(2);
  suspected().doubt(3, {0, 1});
  suspects_.suspect_what_is_doubted(false);
  EXPECT_EQ(suspected().from(), 3u);
  EXPECT_FALSE(suspected().in_doubt());
}

TEST_F(SuspectCheckpointsTest, ADoubtLastsWhereTheRunCannotGoBack) {
  save(4);
  suspected().doubt(3, {0, 1});
  suspects_.suspect_what_is_doubted(false);
  EXPECT_FALSE(suspected().any());
  EXPECT_TRUE(suspected().in_doubt());
}

TEST_F(SuspectCheckpointsTest, TheEndOfTheRunEndsADoubt) {
  suspected().doubt(3, {0, 1});
  suspects_.suspect_what_is_doubted(true);
  EXPECT_EQ(suspected().from(), 3u);
}

TEST_F(SuspectCheckpointsTest, StepsThatTheRunLeavesBehindCountNoMore) {
  save(4);
  const std::string later = save(6);
  suspects_.abandon_after(4, 7);
  EXPECT_EQ(job_.checkpoints.back_in, 7u);
  EXPECT_EQ(log_.all, (PartTexts{"journal view 1", "verdict", "set aside"}));
  EXPECT_EQ(in_folder(), (std::vector<Verdict>{{kFirstAttempt, 5}}));
  EXPECT_FALSE(disk_->holds(later));
  EXPECT_EQ(verdicts().enter(), kFirstAttempt + 1);
}

TEST_F(SuspectCheckpointsTest, WhoeverIsTakenOverAbandonsNothing) {
  const std::string later = save(6);
  journal_->taken = true;
  suspects_.abandon_after(4, 7);
  EXPECT_TRUE(disk_->holds(later)) << "the other coordinator may go on with it";
  EXPECT_TRUE(in_folder().empty());
}

// --- all go back

TEST_F(SuspectCheckpointsTest, TheEventNamesTheCheckpointToWhichAllGoBack) {
  job_.run.report.steps = 9;
  suspected().suspect(3);
  View view = job_.run.view;
  view.number = 2;
  suspects_.go_back_before_suspects(view, {"tiny-2", 2, 2});
  ASSERT_EQ(log_.all, PartTexts{"event went_back"});
  EXPECT_EQ(port_.events[0].integer("view"), 2);
  EXPECT_EQ(port_.events[0].integer("step"), 9);
  EXPECT_EQ(port_.events[0].integer("to_step"), 2);
  EXPECT_EQ(port_.events[0].text("checkpoint"), "tiny-2");
  EXPECT_EQ(job_.checkpoints.known->last().manifest, "tiny-2");
  EXPECT_FALSE(suspected().compared_next()) << "it is known who was wrong";
}

TEST_F(SuspectCheckpointsTest, NoStepIsReportedBeforeTheCheckpoint) {
  suspected().suspect(9);
  suspects_.go_back_before_suspects(job_.run.view, {"tiny-8", 8, 8});
  EXPECT_EQ(port_.events.back().integer("step"), 8);
}

TEST_F(SuspectCheckpointsTest, StepsBetweenTheCheckpointAndTheSuspectsAreAbandonedToo) {
  suspected().suspect(5);
  suspects_.go_back_before_suspects(job_.run.view, {"tiny-2", 2, 2});
  EXPECT_EQ(in_folder(), (std::vector<Verdict>{{kFirstAttempt, 3}}));
  EXPECT_EQ(verdicts().enter(), kFirstAttempt + 1);
}

TEST_F(SuspectCheckpointsTest, NoStepLiesBetweenTheCheckpointAndTheSuspects) {
  suspected().suspect(3);
  suspects_.go_back_before_suspects(job_.run.view, {"tiny-2", 2, 2});
  EXPECT_TRUE(in_folder().empty()) << "whoever suspected them has marked them";
}

TEST_F(SuspectCheckpointsTest, AGoodOneThatCannotBeReadIsNotAbandoned) {
  save(2);
  *away_ = Away::all;
  suspected().suspect(5);
  suspects_.go_back_before_suspects(job_.run.view, {"tiny-2", 2, 2});
  EXPECT_TRUE(verdicts().all().empty());
}

TEST_F(SuspectCheckpointsTest, WhatTheCoordinatorBeforeSuspectedIsMarkedAgainAndCompared) {
  suspected().suspected_before(3);
  job_.run.report.steps = 7;
  suspects_.go_back_before_suspects(job_.run.view, {"tiny-2", 2, 2});
  EXPECT_EQ(in_folder(), (std::vector<Verdict>{{kFirstAttempt, 3}}));
  EXPECT_EQ(suspected().compared_next(), SuspectSteps::Steps(3, 7));
}

TEST_F(SuspectCheckpointsTest, ARunWithoutACheckpointToGoBackToSaysWhatMayBeWrong) {
  suspects_.report_kept_suspects(5);
  ASSERT_EQ(log_.all, PartTexts{"event notice"});
  EXPECT_NE(port_.events[0].text("text").find("no checkpoint before step 5"), std::string::npos);
}

// --- the folder

TEST_F(SuspectCheckpointsTest, NothingIsSetAsideWithoutASuspect) {
  save(4);
  suspects_.set_suspects_aside(0);
  EXPECT_EQ(log_.all, PartTexts{});
}

TEST_F(SuspectCheckpointsTest, AJobWithoutAFolderGivesNoVerdict) {
  job_.run.setup.checkpoints = nullptr;
  job_.run.view.back = true;
  suspects_.set_suspects_aside(3);
  suspects_.remember_verdicts();
  suspects_.remember_going_back();
  suspects_.begin_history();
  EXPECT_TRUE(verdicts().all().empty());
  EXPECT_EQ(verdicts().history(), kFirstAttempt);
  EXPECT_EQ(job_.checkpoints.back_in, 1u) << "whatever the folder says";
}

TEST_F(SuspectCheckpointsTest, ReportsOfSuspectedStepsAreForgotten) {
  job_.run.setup.job.checkpoint.folder = "folder";
  save(2);
  save(4);
  job_.checkpoints.known->go_on_from(Checkpointed{});
  suspects_.set_suspects_aside(3);
  *away_ = Away::all;  // only reports count now
  EXPECT_EQ(job_.checkpoints.known->good_before(9)->step, 2u);
}

TEST_F(SuspectCheckpointsTest, AFolderThatTakesNothingIsReportedOnce) {
  save(4);
  disk_->set_read_only(true);
  suspects_.set_suspects_aside(3);
  suspects_.set_suspects_aside(3);
  ASSERT_EQ(log_.all, PartTexts{"event notice"});
  EXPECT_EQ(port_.events[0].text("text").find("checkpoints of step 3 and later may hold wrong results, and "
                                              "cannot be renamed: cannot write there"),
            0u);
  EXPECT_TRUE(verdicts().suspects_stay());
}

TEST_F(SuspectCheckpointsTest, AFullDiskMayStillRename) {
  save(4);
  disk_->set_room(0);
  suspects_.set_suspects_aside(3);
  ASSERT_EQ(log_.all, (PartTexts{"set aside", "event notice"}));
  EXPECT_NE(port_.events[0].text("text").find("they are renamed, but not marked"), std::string::npos);
  EXPECT_FALSE(verdicts().suspects_stay());
}

TEST_F(SuspectCheckpointsTest, NothingIsWrittenWhereTheFolderIsNotMounted) {
  save(4);
  *away_ = Away::unmounted;
  suspects_.set_suspects_aside(3);
  ASSERT_EQ(log_.all, PartTexts{"event notice"});
  EXPECT_NE(port_.events[0].text("text").find("the folder cannot be read now, or is not mounted"),
            std::string::npos);
}

TEST_F(SuspectCheckpointsTest, ADiskThatTakesVerdictsAgainIsReported) {
  save(4);
  disk_->set_read_only(true);
  suspects_.set_suspects_aside(3);
  log_.all.clear();
  suspects_.mark_suspects_again();
  EXPECT_EQ(log_.all, PartTexts{}) << "it does not take them yet";
  disk_->set_read_only(false);
  suspects_.mark_suspects_again();
  EXPECT_EQ(log_.all, (PartTexts{"verdict", "event notice"}));
  EXPECT_EQ(port_.events.back().text("text"), "the checkpoints that may hold wrong results are marked now");
  suspects_.mark_suspects_again();
  EXPECT_EQ(log_.all.size(), 2u) << "once";
}

TEST_F(SuspectCheckpointsTest, VerdictsAreMarkedBeforeTheRunGoesBack) {
  disk_->set_read_only(true);
  suspected().suspect(3);
  suspects_.set_suspects_aside(3);
  disk_->set_read_only(false);
  log_.all.clear();
  suspects_.go_back_before_suspects(job_.run.view, {"tiny-2", 2, 2});
  EXPECT_EQ(log_.all, (PartTexts{"verdict", "event notice", "event went_back"}));
}

TEST_F(SuspectCheckpointsTest, VerdictsOfOneThatWasTakenOverAreNotWritten) {
  disk_->set_read_only(true);
  suspects_.set_suspects_aside(3);
  disk_->set_read_only(false);
  job_.run.term.take_over();
  log_.all.clear();
  suspects_.mark_suspects_again();
  EXPECT_EQ(log_.all, PartTexts{});
}

// --- a coordinator that was started again

TEST_F(SuspectCheckpointsTest, VerdictsOfTheFolderOnThisRunAreRemembered) {
  add_verdict(*disk_, kTinyHash, {std::uint64_t{8} << kAttemptBits, 2});
  suspects_.remember_verdicts();
  EXPECT_FALSE(suspected().any()) << "another run's";
  add_verdict(*disk_, kTinyHash, {kFirstAttempt, 3});
  suspects_.remember_verdicts();
  EXPECT_EQ(suspected().from(), 3u);
  EXPECT_TRUE(suspected().were_suspected_before());
}

TEST_F(SuspectCheckpointsTest, AViewThatWentOnLeavesNothingBehind) {
  job_.run.view.number = 7;
  suspects_.remember_going_back();
  EXPECT_EQ(job_.checkpoints.back_in, 0u);
}

TEST_F(SuspectCheckpointsTest, AViewThatWentBackLeftTheStepsBehindItsCheckpoint) {
  job_.run.view.number = 7;
  job_.run.view.back = true;
  job_.run.view.history = kFirstAttempt + 1;
  job_.run.view.source.step = 4;
  suspects_.remember_going_back();
  EXPECT_EQ(job_.checkpoints.back_in, 7u);
  EXPECT_EQ(in_folder(), (std::vector<Verdict>{{kFirstAttempt, 5}}));
  EXPECT_TRUE(verdicts().marked());
}

TEST_F(SuspectCheckpointsTest, WhatTheFolderSaysOfThatIsNotSaidAgain) {
  job_.run.view.back = true;
  job_.run.view.history = kFirstAttempt + 1;
  job_.run.view.source.step = 4;
  add_verdict(*disk_, kTinyHash, {kFirstAttempt, 5});
  suspects_.remember_going_back();
  EXPECT_TRUE(verdicts().all().empty());
}

TEST_F(SuspectCheckpointsTest, AFolderThatRefusesToSayThatIsTriedAgain) {
  job_.run.view.back = true;
  job_.run.view.history = kFirstAttempt + 1;
  disk_->set_read_only(true);
  suspects_.remember_going_back();
  EXPECT_FALSE(verdicts().marked());
}

TEST_F(SuspectCheckpointsTest, MembersThatReadPartsLeftNoStepBehind) {
  job_.run.setup.job.train.shard_optimizer = true;
  job_.run.view.number = 7;
  suspects_.remember_going_back();
  EXPECT_EQ(job_.checkpoints.back_in, 7u);
  EXPECT_TRUE(verdicts().all().empty());
}

// --- the history of this attempt

TEST_F(SuspectCheckpointsTest, AResumeIsTheNextAttemptOfItsRun) {
  job_.run.setup.resume = Resume{};
  job_.run.setup.resume->manifest = save(4);
  suspects_.begin_history();
  EXPECT_EQ(verdicts().history(), kFirstAttempt + 1);
}

TEST_F(SuspectCheckpointsTest, ARunThatBeginsIsOfNoOther) {
  save(4);
  suspects_.begin_history();
  EXPECT_FALSE(verdicts().of_this_run(kFirstAttempt));
}

TEST_F(SuspectCheckpointsTest, AFolderThatCannotBeReadIsReportedAndTheHistoryIsOfChance) {
  *away_ = Away::all;
  suspects_.begin_history();
  const std::uint64_t one = verdicts().history();
  EXPECT_EQ(log_.all, PartTexts{"event notice"});
  port_.time += std::chrono::nanoseconds(1);
  suspects_.begin_history();
  EXPECT_FALSE(verdicts().of_this_run(one));
}

TEST_F(SuspectCheckpointsTest, ADamagedFileOfVerdictsIsReported) {
  add_verdict(*disk_, kTinyHash, {kFirstAttempt, 3});
  disk_->tear(verdicts_name(kTinyHash));
  log_.all.clear();
  suspects_.begin_history();
  EXPECT_EQ(log_.all, PartTexts{"event notice"});
}

TEST_F(SuspectCheckpointsTest, AFolderThatHeldCheckpointsAtTheStartCanBeAwayLater) {
  save(4);
  job_.checkpoints.known =
      std::make_unique<KnownCheckpoints>(mounted_, job_.run.setup.job, kTinyHash, verdicts());
  suspects_.begin_history();
  *away_ = Away::unmounted;
  EXPECT_TRUE(job_.checkpoints.known->is_away());
}

}  // namespace
}  // namespace muster
