#include "actors/coordinator/views/rollback.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/coordinator/part_test.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

// Members reported checkpoints of steps 2 and 4, and the view of two replicas
// goes back to the second one.
class RollbackTest : public PartTest {
 protected:
  RollbackTest() : PartTest(std::make_unique<RunningJob>(2)) {
    for (const std::uint64_t step : {2, 4}) {
      Checkpointed report;
      report.manifest = "tiny-" + std::to_string(step);
      report.records = report.step = step;
      job_.checkpoints.known->reported(report);
    }
    job_.run.view.back = true;
    job_.run.view.source.checkpoint = "tiny-4";
    job_.run.view.source.records = job_.run.view.source.step = 4;
    job_.run.took_effect = false;
    job_.run.setup.job.cluster.give_up_after = 10s;
  }
  void says(const NodeName& who, const std::string& error, Unread unread = Unread::no) {
    rollback_.on(WentBack{who, job_.run.view.number, error, unread});
  }
};

TEST_F(RollbackTest, ADamagedCheckpointIsPassedOverForTheOneBeforeIt) {
  says(kReplica0, "it is damaged");
  EXPECT_EQ(actions_.all, PartTexts{}) << "the other one may be able to read it";
  says(kReplica1, "it is damaged");
  EXPECT_EQ(actions_.all, PartTexts{"close view"});
  EXPECT_EQ(job_.checkpoints.known->last().manifest, "tiny-2");
  ASSERT_EQ(port_.names_of_events(), PartTexts{"notice"});
  EXPECT_EQ(port_.events[0].text("text"), "it is damaged; the run goes to tiny-2");
}

TEST_F(RollbackTest, TheRunFailsWhereNoOlderOneIsLeft) {
  job_.checkpoints.known->pass_over({0, {}, "tiny-2", 2, 2}, 1, false);
  says(kReplica0, "it is damaged");
  says(kReplica1, "it is damaged");
  ASSERT_EQ(actions_.all.size(), 1u);
  EXPECT_EQ(actions_.all[0].find("fail: no checkpoint is left to go back to: it is damaged"), 0u);
}

TEST_F(RollbackTest, WhoAloneCannotReadItIsLost) {
  says(kReplica0, "");
  says(kReplica1, "it is damaged");
  EXPECT_EQ(actions_.all, PartTexts{"lost replica 1: it is damaged; others can: "
                                    "does its host see the same "
                                    "checkpoint.folder?"});
}

TEST_F(RollbackTest, AnswersOfAnotherViewSayNothing) {
  rollback_.on(WentBack{kReplica0, job_.run.view.number + 1, "it is damaged", Unread::no});
  says(kReplica1, "it is damaged");
  EXPECT_EQ(actions_.all, PartTexts{});
}

TEST_F(RollbackTest, WhatIsDoneAgainIsForgotten) {
  job_.run.report.steps = 9;
  job_.run.report.samples = 90;
  View next = job_.run.view;
  ++next.number;
  rollback_.forget_after(next);
  EXPECT_EQ(job_.run.report.steps, 4u);
  EXPECT_EQ(job_.run.report.samples, 0u);
  EXPECT_EQ(job_.checkpoints.back_in, next.number);
}

TEST_F(RollbackTest, ARunThatEndsNamesNoCheckpointThatWasFoundDamaged) {
  job_.run.end.keep_state("interrupted", "", {});  // then nobody judges answers
  says(kReplica0, "it is damaged");
  says(kReplica1, "it is damaged");
  EXPECT_EQ(job_.checkpoints.known->last().manifest, "tiny-4");
  rollback_.keep_no_damaged();
  EXPECT_EQ(job_.checkpoints.known->last().manifest, "tiny-2");
}

}  // namespace
}  // namespace muster
