// A coordinator starts: what its journal says, and what a resume is told.
#include <gtest/gtest.h>

#include "tests/unit/actors/coordinator/nodes/adoption_parts.hpp"

namespace muster {
namespace {

class AdoptionStart : public AdoptionFixture {
 protected:
  void starts_with(const JournalEntry& entry) {
    journal_->entry = entry;
    adoption_.look_into_journal();
  }
  void resumes(const std::string& manifest) {
    job_.run.setup.resume = Resume{};
    job_.run.setup.resume->manifest = manifest;
  }
};

TEST_F(AdoptionStart, WithoutAJournalNothingIsKept) {
  job_.run.setup.journal = nullptr;
  adoption_.look_into_journal();
  EXPECT_EQ(log_.all, PartTexts{});
}

TEST_F(AdoptionStart, ANewRunIsInTheJournalBeforeAnybodyComes) {
  adoption_.look_into_journal();
  EXPECT_EQ(log_.all, PartTexts{"journal view 0"});
  EXPECT_EQ(journal_->entry->term, 1u);
  EXPECT_EQ(job_.run.phase, CoordinatorPhase::forming);
  EXPECT_FALSE(job_.run.unknown_members_may_come());
}

TEST_F(AdoptionStart, ANewRunWithoutAJournalIsNotBegun) {
  journal_->full = true;
  EXPECT_THROW(adoption_.look_into_journal(), Error);
}

TEST_F(AdoptionStart, ARunThatHasEndedIsBegunAnewInAHigherTerm) {
  JournalEntry entry = entry_of_view_3();
  entry.ended = true;
  starts_with(entry);
  EXPECT_EQ(log_.all, PartTexts{"journal view 0"});
  EXPECT_EQ(journal_->entry->term, 5u);
  EXPECT_EQ(job_.run.phase, CoordinatorPhase::forming);
  EXPECT_FALSE(job_.run.unknown_members_may_come());
}

TEST_F(AdoptionStart, ARunThatHasEndedIsNotBegunAnewWithoutAJournal) {
  JournalEntry entry = entry_of_view_3();
  entry.ended = true;
  journal_->full = true;
  EXPECT_THROW(starts_with(entry), Error) << "nobody of it lives";
}

TEST_F(AdoptionStart, ARunThatHasEndedNeedsItsNumbersNoMore) {
  JournalEntry entry = entry_without_view({5, 0});
  entry.ended = true;
  starts_with(entry);
  EXPECT_NE(job_.membership().find(kReplica0), nullptr);
}

TEST_F(AdoptionStart, ARunThatHasEndedMayBeBegunAtItsFirstStep) {
  JournalEntry entry = entry_without_view({2, 0});
  entry.view.source.checkpoint = "tiny-4";
  entry.ended = true;
  EXPECT_NO_THROW(starts_with(entry));
}

// --- the journal has a view

TEST_F(AdoptionStart, TheMembersOfTheLastViewAreWaitedFor) {
  starts_with(entry_of_view_3());
  EXPECT_EQ(log_.all, (PartTexts{"event restarted", "journal view 3"}));
  EXPECT_EQ(port_.events[0].integer("term"), 5);
  EXPECT_EQ(port_.events[0].integer("view"), 3);
  EXPECT_EQ(port_.events[0].integer("members"), 2);
  EXPECT_EQ(job_.run.phase, CoordinatorPhase::adopting);
  EXPECT_EQ(job_.run.view.number, 3u);
  EXPECT_TRUE(job_.run.begun);
  EXPECT_EQ(job_.membership().returns().missing(), (std::vector{kReplica0, kReplica1}));
  EXPECT_FALSE(job_.checkpoints.suspects.in_doubt());
  EXPECT_EQ(job_.checkpoints.verdicts.history(), 1u) << "the journal knows of none";
}

TEST_F(AdoptionStart, TheViewIsWatchedFromNowOn) {
  JournalEntry entry = entry_of_view_3();
  entry.view.dropping.record = 9;
  starts_with(entry);
  EXPECT_EQ(job_.run.watch->dropping().record, 9u);
}

TEST_F(AdoptionStart, AFolderThatCannotBeReadMayHoldCheckpoints) {
  has_a_folder();
  *away_ = Away::all;
  JournalEntry entry = entry_of_view_3();
  entry.job_hash = kFolderHash;
  starts_with(entry);
  EXPECT_TRUE(job_.checkpoints.known->is_away());
}

TEST_F(AdoptionStart, AFolderThatHeldCheckpointsMayGoAwayLater) {
  has_a_folder();
  JournalEntry entry = entry_of_view_3();
  entry.job_hash = kFolderHash;
  starts_with(entry);
  *away_ = Away::unmounted;
  EXPECT_TRUE(job_.checkpoints.known->is_away());
}

TEST_F(AdoptionStart, VerdictsOfTheFolderCount) {
  has_a_folder();
  add_verdict(*disk_, kFolderHash, {1, 3});
  JournalEntry entry = entry_of_view_3();
  entry.job_hash = kFolderHash;
  entry.view.history = 1;
  starts_with(entry);
  EXPECT_EQ(job_.checkpoints.suspects.from(), 3u);
}

TEST_F(AdoptionStart, TheJournalHasTheNewTermBeforeAMemberIsBack) {
  starts_with(entry_of_view_3());
  EXPECT_EQ(journal_->entry->term, 5u);
  EXPECT_FALSE(job_.run.term.journal_is_behind());
}

TEST_F(AdoptionStart, AFullDiskIsTriedAgainWhereMembersMayLive) {
  journal_->full = true;
  starts_with(entry_of_view_3());
  EXPECT_EQ(log_.all, (PartTexts{"event restarted", "event journal_delayed"}));
  EXPECT_TRUE(job_.run.term.journal_is_behind());
}

TEST_F(AdoptionStart, TheReportBeginsWithTheCheckpointOfTheView) {
  starts_with(entry_of_view_3());
  EXPECT_EQ(job_.run.report.steps, 4u);
  EXPECT_EQ(job_.checkpoints.known->last().manifest, "tiny-4");
}

TEST_F(AdoptionStart, TheRateCountsFromTheFirstReportThatIsHeard) {
  starts_with(entry_of_view_3());
  port_.time += std::chrono::seconds(1);
  Progress progress;
  progress.samples = 60;
  job_.run.training.heard(progress, port_.now());
  port_.time += std::chrono::seconds(4);
  job_.run.training.end(port_.now());
  const auto summary = job_.run.training.sum_up(100, 0, 0);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->seconds, 4);
  EXPECT_EQ(summary->samples_per_second, 10);
}

TEST_F(AdoptionStart, WithoutAReportTrainingBeginsWithTheCoordinator) {
  starts_with(entry_of_view_3());
  port_.time += std::chrono::seconds(5);
  job_.run.training.end(port_.now());
  EXPECT_EQ(job_.run.training.sum_up(100, 0, 0)->seconds, 5);
}

TEST_F(AdoptionStart, NumbersThatWereGivenAreNotGivenAgain) {
  JournalEntry entry = entry_of_view_3();
  entry.free = {7, 3};
  starts_with(entry);
  EXPECT_EQ(job_.membership().admission().free_numbers(), (FreeNumbers{7, 3}));
}

TEST_F(AdoptionStart, TheHistoryOfTheMembersGoesOn) {
  JournalEntry entry = entry_of_view_3();
  entry.view.history = 9;
  starts_with(entry);
  EXPECT_EQ(job_.checkpoints.verdicts.history(), 9u);
}

TEST_F(AdoptionStart, StepsThatAreSuspectedStaySuspected) {
  JournalEntry entry = entry_of_view_3();
  entry.suspect_from = 3;
  starts_with(entry);
  EXPECT_EQ(job_.checkpoints.suspects.from(), 3u);
  EXPECT_TRUE(job_.checkpoints.suspects.were_suspected_before());
  EXPECT_FALSE(job_.checkpoints.known->any()) << "the last checkpoint holds them";
  EXPECT_EQ(journal_->entry->suspect_from, 3u);
  const std::uint64_t before = job_.checkpoints.verdicts.history();
  EXPECT_EQ(job_.checkpoints.verdicts.enter(), before + 1) << "they are given up";
}

TEST_F(AdoptionStart, StepsInDoubtStayInDoubtBetweenAllMembers) {
  JournalEntry entry = entry_of_view_3();
  entry.doubt_from = 3;
  starts_with(entry);
  EXPECT_EQ(job_.checkpoints.suspects.doubt_from(), 3u);
  EXPECT_TRUE(job_.checkpoints.suspects.can_be_settled_in(entry.view));
  entry.view.replicas.pop_back();
  EXPECT_FALSE(job_.checkpoints.suspects.can_be_settled_in(entry.view));
}

TEST_F(AdoptionStart, AViewThatWentBackCountsFromItsCheckpoint) {
  JournalEntry entry = entry_of_view_3();
  entry.view.back = true;
  starts_with(entry);
  EXPECT_EQ(job_.checkpoints.back_in, 3u);
}

TEST_F(AdoptionStart, FirstViewsThatWereVoidKeepTheirNumbers) {
  JournalEntry entry = entry_of_view_3();
  entry.first_view = 3;
  starts_with(entry);
  EXPECT_EQ(job_.run.first_view, 3u);
}

TEST_F(AdoptionStart, AnOlderJournalKnowsNoFirstView) {
  JournalEntry entry = entry_of_view_3();
  entry.first_view = 0;
  starts_with(entry);
  EXPECT_EQ(job_.run.first_view, 1u);
}

TEST_F(AdoptionStart, TheJournalOfAnotherJobIsLeftAlone) {
  JournalEntry entry = entry_of_view_3();
  entry.job_hash = "another";
  EXPECT_THROW(starts_with(entry), Error);
  EXPECT_EQ(log_.all, PartTexts{});
}

TEST_F(AdoptionStart, ACompletedRunTellsItsMembersSo) {
  JournalEntry entry = entry_of_view_3();
  entry.completed = true;
  entry.steps = 8;
  entry.samples = 80;
  entry.weights_sha256 = "ff";
  entry.epochs.emplace_back().epoch = 1;
  entry.view.dropping.record = 9;
  starts_with(entry);
  EXPECT_EQ(job_.run.watch->dropping().record, 9u);
  EXPECT_EQ(log_.all, PartTexts{});
  EXPECT_TRUE(job_.run.end.decided());
  EXPECT_TRUE(job_.run.report.completed());
  EXPECT_TRUE(job_.run.begun);
  EXPECT_EQ(job_.run.view.number, 3u);
  EXPECT_EQ(job_.run.report.steps, 8u);
  EXPECT_EQ(job_.run.report.samples, 80u);
  EXPECT_EQ(job_.run.report.weights_sha256, "ff");
  EXPECT_TRUE(job_.run.epochs.counts(1));
}

// --- the journal has no view yet

TEST_F(AdoptionStart, NodesThatHaveNumbersAreWaitedForAndTheNumbersKept) {
  JournalEntry entry = entry_without_view({5, 0});
  entry.first_view = 3;
  starts_with(entry);
  EXPECT_EQ(log_.all, (PartTexts{"event notice", "journal view 0"}));
  EXPECT_TRUE(job_.run.unknown_members_may_come());
  EXPECT_EQ(job_.run.gathering.left() / kCoordinatorTick,
            (kReturnMax + job_.run.setup.job.cluster.detect.patience) / kCoordinatorTick);
  EXPECT_EQ(job_.run.first_view, 3u);
  EXPECT_EQ(job_.membership().find(kReplica0), nullptr);
  EXPECT_NE(job_.membership().find({false, 5}), nullptr);
  EXPECT_TRUE(job_.run.gathering.has_free_place());
}

TEST_F(AdoptionStart, OfAnotherJobNobodyWasHere) {
  JournalEntry entry = entry_without_view({5, 0});
  entry.job_hash = "another";
  starts_with(entry);
  EXPECT_FALSE(job_.run.gathering.has_free_place());
}

TEST_F(AdoptionStart, AFullDiskIsTriedAgainWhereNodesMayLive) {
  journal_->full = true;
  starts_with(entry_without_view({5, 0}));
  EXPECT_EQ(log_.all, (PartTexts{"event notice", "event journal_delayed"}));
  EXPECT_TRUE(job_.run.gathering.tries_to_begin_anew());
}

TEST_F(AdoptionStart, ARunThatIsTakenOverAtItsStartIsNotBegun) {
  journal_->taken = true;
  EXPECT_THROW(starts_with(entry_without_view({5, 0})), TakenOver);
}

TEST_F(AdoptionStart, ARunThatWasToBeResumedIsNotBegunAtItsFirstStep) {
  JournalEntry entry = entry_without_view({2, 0});
  entry.view.source.checkpoint = "tiny-4";
  EXPECT_THROW(starts_with(entry), Error);
  EXPECT_EQ(journal_->entry->term, 4u) << "the journal stays as it was";
}

TEST_F(AdoptionStart, NorIsOneOfAnotherJob) {
  JournalEntry entry = entry_without_view({2, 0});
  entry.view.source.checkpoint = "tiny-4";
  entry.job_hash = "another";
  EXPECT_NO_THROW(starts_with(entry)) << "that one is over";
}

// --- resume

TEST_F(AdoptionStart, AResumeWaitsForNobodyAndSaysSo) {
  resumes("tiny-4");
  starts_with(entry_of_view_3());
  EXPECT_EQ(log_.all, (PartTexts{"event notice", "journal view 0"}));
  EXPECT_EQ(port_.events[0].text("text").find("--resume: the run goes back to a checkpoint"), 0u);
  EXPECT_EQ(job_.run.phase, CoordinatorPhase::forming);
  EXPECT_FALSE(job_.run.unknown_members_may_come());
  EXPECT_EQ(journal_->entry->view.source.checkpoint, "tiny-4");
}

TEST_F(AdoptionStart, AResumeOfARunThatHasEndedNeedsNoNotice) {
  resumes("tiny-4");
  JournalEntry entry = entry_of_view_3();
  entry.ended = true;
  starts_with(entry);
  EXPECT_EQ(log_.all, PartTexts{"journal view 0"});
}

TEST_F(AdoptionStart, AResumeThatWasInterruptedIsRepeated) {
  resumes("tiny-4");
  JournalEntry entry = entry_without_view({2, 0});
  entry.view.source.checkpoint = "tiny-4";
  starts_with(entry);
  EXPECT_EQ(log_.all, PartTexts{"journal view 0"});
  EXPECT_FALSE(job_.run.unknown_members_may_come()) << "nobody is waited for";
}

TEST_F(AdoptionStart, AResumeKnowsOfACheckpointWhateverTheFolderSays) {
  has_a_folder();
  *away_ = Away::all;
  resumes("tiny-4");
  adoption_.report_resumed();
  EXPECT_TRUE(job_.checkpoints.known->is_away());
}

TEST_F(AdoptionStart, AResumeReportsWhatWasDoneBefore) {
  resumes("tiny-4");
  Resume& resume = *job_.run.setup.resume;
  resume.path = "folder/tiny-4";
  resume.records = 5;
  resume.step = 4;
  resume.epoch = 2;
  resume.samples = 40;
  resume.weights_sha256 = "ff";
  resume.epochs.emplace_back().epoch = 1;
  resume.passed_over.push_back({"tiny-8", "it is damaged"});
  resume.passed_over.push_back({"tiny-6", "it is torn"});
  adoption_.report_resumed();
  ASSERT_EQ(log_.all, PartTexts{"event resumed"});
  EXPECT_EQ(port_.events[0].integer("step"), 4);
  EXPECT_EQ(port_.events[0].integer("epoch"), 2);
  EXPECT_EQ(port_.events[0].text("path"), "folder/tiny-4");
  EXPECT_EQ(port_.events[0].text("passed_over"), "tiny-8: it is damaged; tiny-6: it is torn");
  EXPECT_EQ(job_.run.report.steps, 4u);
  EXPECT_EQ(job_.run.report.samples, 40u);
  EXPECT_TRUE(job_.run.epochs.counts(1));
  const Checkpointed& last = job_.checkpoints.known->last();
  EXPECT_EQ(last.manifest, "tiny-4");
  EXPECT_EQ(last.records, 5u);
  EXPECT_EQ(last.path, "folder/tiny-4");
  EXPECT_EQ(last.weights_sha256, "ff");
}

}  // namespace
}  // namespace muster
