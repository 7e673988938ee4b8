#include "actors/replica/duties/rollback.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/replica/duties/duty_context.hpp"

namespace muster::rollback_test {
namespace {

using testing::DutyContext;
using testing::last_as;
using Outcome = StateRollback::Outcome;

struct GoingBack : DutyContext {
  StateRollback rollback{context};

  GoingBack() {
    view().back = true;
    view().source.checkpoint = "step-3";
    view().source.records = 3;
    rollback.enter();
  }
};

Restored refused(const DiskTries& tries = {}) {
  return {0, nullptr, "it cannot be read", Unread::refused, tries};
}

TEST(StateRollback, AViewThatGoesBackWantsTheStateReplaced) {
  GoingBack replica;
  EXPECT_TRUE(replica.rollback.replacement().wanted());
  replica.view().back = false;
  replica.rollback.enter();
  EXPECT_FALSE(replica.rollback.replacement().wanted());
}

TEST(StateRollback, WithoutAFolderItCannotGoBack) {
  GoingBack replica;
  replica.rollback.begin();
  EXPECT_EQ(replica.activity(), Activity::restoring);
  replica.jobs->run();
  const auto* restored = last_as<Restored>(replica.sent.answers);
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->error, "it has no folder with step-3 to go back to");
  EXPECT_EQ(replica.rollback.on(*restored), Outcome::failed);
  const auto* told = last_as<WentBack>(replica.sent.node);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->error, restored->error);
  EXPECT_TRUE(replica.rollback.replacement().wanted());
}

TEST(StateRollback, WhatTheRunGoesOnFromNeedsNoDisk) {
  GoingBack replica;
  auto from = std::make_shared<Snapshot>();
  from->place.records = 3;
  replica.rollback.keep_source(from);
  replica.rollback.begin();
  EXPECT_EQ(replica.activity(), Activity::updating);
  EXPECT_EQ(replica.jobs->size(), 1u);
  replica.rollback.forget_source();
  replica.rollback.begin();
  EXPECT_EQ(replica.activity(), Activity::restoring);
}

TEST(StateRollback, AViewThatEndsBeforeNeedsNoReplacement) {
  GoingBack replica;
  replica.rollback.begin();
  EXPECT_FALSE(replica.rollback.goes_on());
  replica.jobs->run();
  EXPECT_TRUE(replica.sent.answers.empty());
}

TEST(StateRollback, ADiskThatRefusesIsAskedAgainUntilTheTimeIsOver) {
  GoingBack replica;
  EXPECT_EQ(replica.rollback.on(refused()), Outcome::pending);
  ASSERT_EQ(replica.sent.self.size(), 1u);
  EXPECT_EQ(replica.sent.self[0].first, kDiskAgainMin);
  DiskTries tries = std::get<ReadAgain>(replica.sent.self[0].second).tries;
  EXPECT_EQ(replica.sent.node.size(), 1u) << "a notice";
  replica.sent.now = replica.context.job().cluster.give_up_after;
  EXPECT_EQ(replica.rollback.on(refused(tries)), Outcome::pending) << "the last try";
  tries = std::get<ReadAgain>(replica.sent.self[1].second).tries;
  EXPECT_TRUE(tries.last);
  EXPECT_EQ(replica.sent.node.size(), 1u);
  EXPECT_EQ(replica.rollback.on(refused(tries)), Outcome::failed);
  EXPECT_TRUE(last_as<WentBack>(replica.sent.node));
}

TEST(StateRollback, AStateInPlaceIsReported) {
  GoingBack replica;
  EXPECT_EQ(replica.rollback.on(Restored{}), Outcome::in_place);
  const auto* told = last_as<WentBack>(replica.sent.node);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->view, 5u);
  EXPECT_EQ(told->error, "");
  EXPECT_FALSE(replica.rollback.replacement().wanted());
}

}  // namespace
}  // namespace muster::rollback_test
