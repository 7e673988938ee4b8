#include "actors/replica/duties/checkpoints.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/replica/duties/duty_context.hpp"

namespace muster::checkpoints_test {
namespace {

using testing::DutyContext;
using testing::last_as;
using testing::WaitingJobs;

struct Writing : DutyContext {
  PartExchange parts{context};
  WeightsComparison weights;
  CatchUp catch_up;
  StateReplacement replacement;
  Checkpoints checkpoints{context, parts, weights, catch_up, replacement};
  std::shared_ptr<WaitingJobs> disk = std::make_shared<WaitingJobs>();
  std::shared_ptr<WaitingJobs> spare = std::make_shared<WaitingJobs>();

  // It is the first of the view, and writes.
  void speaks() { view().replicas.erase(view().replicas.begin()); }
  void has_folder() {
    CheckpointConfig config;
    config.every = {1, Interval::Unit::steps};
    context.setup.checkpoints = std::make_shared<Checkpointer>(
        disk, [this] { return spare; }, nullptr, nullptr, config, true);
  }
  // Of the last message to itself that says so.
  WriteOverdue overdue(std::uint32_t looks = 1) const {
    auto message = std::get<WriteOverdue>(sent.self.back().second);
    message.looks = looks;
    return message;
  }
  void step() {
    take_records(position->records() + 1);
    position->schedule().step_committed();
    checkpoints.look();
  }
  std::string kept() const {
    const auto* message = last_as<StateKept>(sent.node);
    return message ? message->text : "nothing";
  }
  std::string event() const {
    const auto* message = last_as<Raised>(sent.node);
    return message ? message->event.name : "none";
  }
};

Snapped snapped_for(SnapshotUse use) {
  Snapped snapped;
  snapped.view = 5;
  snapped.use = use;
  snapped.snapshot = std::make_shared<Snapshot>();
  return snapped;
}

TEST(Checkpoints, TheFirstReplicaTakesTheOneThatIsDue) {
  for (const bool first : {false, true}) {
    Writing replica;
    replica.has_folder();
    if (first) replica.speaks();
    replica.step();
    EXPECT_TRUE(replica.checkpoints.due());
    replica.checkpoints.take_due();
    replica.checkpoints.take_due();
    EXPECT_EQ(replica.jobs->size(), first ? 1u : 0u) << "once";
  }
}

TEST(Checkpoints, OneIsPassedOverWhileAnotherOneIsWritten) {
  Writing replica;
  replica.has_folder();
  replica.speaks();
  replica.step();
  replica.checkpoints.take_due();
  replica.checkpoints.on(snapped_for(SnapshotUse::checkpoint));
  EXPECT_EQ(replica.disk->size(), 1u);
  replica.step();
  replica.checkpoints.take_due();
  EXPECT_EQ(replica.event(), "checkpoint_passed_over");
  Written written;
  written.view = 5;
  EXPECT_FALSE(replica.checkpoints.on(written));
  EXPECT_TRUE(last_as<Checkpointed>(replica.sent.node));
  replica.step();
  replica.checkpoints.take_due();
  EXPECT_EQ(replica.jobs->size(), 2u);
}

TEST(Checkpoints, TheOneOfTheEndIsWaitedForInItsTurn) {
  Writing replica;
  replica.has_folder();
  Written written;
  written.view = 5;
  written.last = true;
  EXPECT_TRUE(replica.checkpoints.on(written));
  written.turn = 1;
  EXPECT_FALSE(replica.checkpoints.on(written)) << "an earlier turn asked for it";
  written.turn = 0;
  written.error = "no";
  EXPECT_FALSE(replica.checkpoints.on(written));
  EXPECT_TRUE(last_as<Trouble>(replica.sent.node));
}

TEST(Checkpoints, TheOneOfTheEndCountsInItsHistory) {
  Job job;
  job.train.steps = 1;
  Writing replica;
  *replica.position = TrainingPosition(job, replica.context.setup.facts, 1);
  replica.step();
  ASSERT_TRUE(replica.context.schedule().finished());
  Written written;
  written.view = 5;
  written.last = true;
  written.records = 1;
  EXPECT_TRUE(replica.checkpoints.on(written));
  EXPECT_TRUE(replica.checkpoints.of_the_end());
  replica.view().history = 1;
  EXPECT_FALSE(replica.checkpoints.of_the_end());
  replica.view().history = 0;
  replica.checkpoints.forget_end();
  EXPECT_FALSE(replica.checkpoints.of_the_end());
}

TEST(Checkpoints, WhatTheDiskRefusesIsWrittenAgain) {
  Writing replica;
  replica.has_folder();
  Written written;
  written.view = 5;
  written.disk = true;
  written.error = "no space";
  written.kept = std::make_shared<const Snapshot>();
  EXPECT_FALSE(replica.checkpoints.on(written));
  EXPECT_EQ(replica.event(), "checkpoint_delayed");
  ASSERT_EQ(replica.sent.self.size(), 1u);
  replica.checkpoints.on(std::get<WriteAgain>(replica.sent.self[0].second));
  EXPECT_EQ(replica.disk->size(), 1u);
}

// The job's last checkpoint is asked for, and its disk does not answer.
struct Hung : Writing {
  Hung() {
    has_folder();
    context.setup.trainer->job.cluster.give_up_after = std::chrono::seconds(6);
    checkpoints.on(snapped_for(SnapshotUse::last_checkpoint));
  }
  // The answer of one of the two disks.
  Written answer(const std::string& folder = "", const std::string& error = "") const {
    Written written = overdue().written;
    written.folder = folder;
    written.error = error;
    written.disk = !error.empty();
    return written;
  }
};

TEST(Checkpoints, ADiskThatAnswersInTimeIsNotOverdue) {
  Hung replica;
  EXPECT_EQ(kLooksMax * replica.sent.self.back().first, std::chrono::seconds(6)) << "cluster.give_up_after";
  const WriteOverdue overdue = replica.overdue();
  EXPECT_TRUE(replica.checkpoints.on(replica.answer()));
  replica.checkpoints.on(overdue);
  EXPECT_EQ(replica.spare->size(), 0u);
}

TEST(Checkpoints, TimeInWhichTheProcessStoodStillIsOneLookAtTheDisk) {
  Hung replica;
  replica.checkpoints.on(replica.overdue(2));
  EXPECT_EQ(replica.spare->size(), 0u);
  const auto next = std::get<WriteOverdue>(replica.sent.self.back().second);
  EXPECT_EQ(next.looks, 1u);
  replica.checkpoints.on(next);
  EXPECT_EQ(replica.spare->size(), 1u);
}

TEST(Checkpoints, TheLastOneGoesElsewhereWhenItsDiskDoesNotAnswer) {
  Hung replica;
  const Written refused = replica.answer("", "stale file handle");
  replica.checkpoints.on(replica.overdue());
  ASSERT_EQ(replica.spare->size(), 1u);
  EXPECT_FALSE(replica.checkpoints.on(refused)) << "the spare folder's disk is to answer";
  EXPECT_EQ(replica.event(), "none");
  const Written late = replica.answer();
  EXPECT_TRUE(replica.checkpoints.on(replica.answer("spare")));
  EXPECT_FALSE(replica.checkpoints.on(late)) << "once";
  const auto* told = last_as<Checkpointed>(replica.sent.node);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->folder, "") << "it is there all the same, and is told of";
}

TEST(Checkpoints, ALateAnswerCountsWhileTheSpareFolderIsWritten) {
  Hung replica;
  const Written late = replica.answer();
  replica.checkpoints.on(replica.overdue());
  EXPECT_TRUE(replica.checkpoints.on(late));
  EXPECT_FALSE(replica.checkpoints.on(replica.answer("spare")));
}

TEST(Checkpoints, WhereNeitherDiskAnswersTheReplicaCannotGoOn) {
  Hung replica;
  replica.checkpoints.on(replica.overdue());
  replica.checkpoints.on(replica.overdue());
  EXPECT_EQ(replica.spare->size(), 1u) << "once";
  const auto* answer = last_as<Written>(replica.sent.answers);
  ASSERT_TRUE(answer);
  EXPECT_FALSE(replica.checkpoints.on(Written(*answer)));
  const auto* trouble = last_as<Trouble>(replica.sent.node);
  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->reason, "the last checkpoint could not be written: the disk has not answered for 6 s");
}

// A healthy replica was lost for it, and a large state with it.
TEST(Checkpoints, WhatWasOverdueInTheFolderIsNotSoInTheSpareFolder) {
  Hung replica;
  const WriteOverdue in_the_folder = replica.overdue();
  replica.checkpoints.on(in_the_folder);
  ASSERT_EQ(replica.spare->size(), 1u);
  replica.checkpoints.on(in_the_folder);
  EXPECT_FALSE(last_as<Written>(replica.sent.answers));
  EXPECT_TRUE(replica.checkpoints.on(replica.answer("spare")));
}

TEST(Checkpoints, OneOnTheWayThatIsOverdueIsReported) {
  Writing replica;
  replica.has_folder();
  replica.checkpoints.on(snapped_for(SnapshotUse::checkpoint));
  replica.checkpoints.on(replica.overdue());
  EXPECT_EQ(replica.event(), "checkpoint_failed");
  EXPECT_EQ(replica.spare->size(), 0u);
}

TEST(Checkpoints, WhatIsLeftAtTheEndOfAReplicaIsWrittenOrItSaysWhyNot) {
  Writing replica;
  replica.checkpoints.keep_state();
  EXPECT_EQ(replica.kept(), "no checkpoint is written: checkpoint.folder is not set");
  replica.has_folder();
  replica.checkpoints.keep_state();
  EXPECT_EQ(replica.kept(), "no checkpoint is written: no step was done");
  replica.take_records(1);
  replica.replacement.enter(true);
  replica.checkpoints.keep_state();
  EXPECT_EQ(replica.kept(),
            "no checkpoint is written: its state was to be replaced by that of the beginning");
  replica.replacement.in_place();
  replica.catch_up.observe(0);
  replica.checkpoints.keep_state();
  EXPECT_EQ(replica.kept(), "no checkpoint is written: it had no state yet");
  replica.catch_up.state_is_in_place();
  EXPECT_EQ(replica.jobs->size(), 0u);
  replica.checkpoints.keep_state();
  EXPECT_EQ(replica.jobs->size(), 1u);
}

TEST(Checkpoints, OfAReplicaThatAppliesARecordTheStateIsKeptBehindIt) {
  Writing replica;
  replica.context.phase.record_taken();
  replica.checkpoints.keep_state();
  EXPECT_TRUE(replica.sent.node.empty());
  replica.context.phase.record_applied();
  replica.checkpoints.keep_state_if_wanted();
  EXPECT_EQ(replica.kept(), "no checkpoint is written: checkpoint.folder is not set");
  replica.sent.node.clear();
  replica.checkpoints.keep_state_if_wanted();
  EXPECT_TRUE(replica.sent.node.empty()) << "once";
}

TEST(Checkpoints, ASnapshotThatFailsIsTroubleAndIsRemembered) {
  Writing replica;
  replica.has_folder();
  replica.take_records(1);
  Snapped failed = snapped_for(SnapshotUse::checkpoint);
  failed.error = "its memory";
  replica.checkpoints.on(failed);
  EXPECT_TRUE(last_as<Trouble>(replica.sent.node));
  replica.checkpoints.keep_state();
  EXPECT_EQ(replica.kept(), "no checkpoint is written: its memory");
  replica.checkpoints.stand_at_position();
  replica.checkpoints.keep_state();
  EXPECT_EQ(replica.jobs->size(), 1u) << "another state is in place";
}

TEST(Checkpoints, AWrittenStateOfTheEndIsReportedToTheNode) {
  Writing replica;
  replica.has_folder();
  Written written;
  written.parting = true;
  written.path = "weights";
  EXPECT_FALSE(replica.checkpoints.on(written));
  EXPECT_EQ(replica.kept(), "its state is in weights");
  replica.sent.node.clear();
  replica.checkpoints.report_again();
  EXPECT_TRUE(last_as<Checkpointed>(replica.sent.node));
}

}  // namespace
}  // namespace muster::checkpoints_test
