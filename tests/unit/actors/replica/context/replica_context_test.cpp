#include "actors/replica/context/replica_context.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "actors/replica/context/own_round.hpp"
#include "tests/unit/actors/replica/duties/duty_context.hpp"

namespace muster::replica_context_test {
namespace {

using testing::DutyContext;
using testing::last_as;

TEST(ReplicaContext, AnAnswerCarriesTheTurnInWhichItWasAskedFor) {
  DutyContext replica;
  replica.context.turn = 3;
  replica.context.compute([](TrainerState&) { return Hashed{0, "abc", 0, {}}; });
  replica.context.turn = 4;
  EXPECT_TRUE(replica.sent.answers.empty());
  replica.jobs->run();
  const auto* answer = last_as<Hashed>(replica.sent.answers);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->turn, 3u);
  EXPECT_EQ(answer->state_sha256, "abc");
}

TEST(ReplicaContext, WhatAComputationThrowsIsTheAnswersError) {
  DutyContext replica;
  replica.context.compute([](TrainerState&) -> Computed { throw ShardError(7, "the shard"); });
  replica.jobs->run();
  const auto* answer = last_as<Computed>(replica.sent.answers);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->error, "the shard");
  EXPECT_EQ(answer->error_shard, 7u);
}

TEST(ReplicaContext, WhatAComputationWithoutAnswerThrowsIsTrouble) {
  DutyContext replica;
  replica.context.on_compute_thread([](TrainerState&) { throw std::runtime_error("no memory"); });
  replica.jobs->run();
  const auto* trouble = last_as<Trouble>(replica.sent.node);
  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->reason, "no memory");
  EXPECT_FALSE(trouble->ends_run);
}

TEST(ReplicaContext, TroubleWithEventsEndsTheRun) {
  DutyContext replica;
  replica.context.trouble("NaN", {Event{}});
  EXPECT_TRUE(std::get<Trouble>(replica.sent.node.at(0)).ends_run);
}

TEST(OwnRound, AShardIsLeftOutOfTheFirstRoundOfAViewOnly) {
  DutyContext replica;
  replica.view().dropping = {1, {{2, 3}}};
  EXPECT_TRUE(left_out(replica.view(), *replica.position, 2));
  EXPECT_FALSE(left_out(replica.view(), *replica.position, 3));
  replica.take_records(1);
  EXPECT_FALSE(left_out(replica.view(), *replica.position, 2));
}

TEST(OwnRound, WithoutAShardTheModelFailedWithAll) {
  DutyContext replica;
  model_failed(replica.context, Cursor{}, std::nullopt, "no");
  const auto& trouble = std::get<Trouble>(replica.sent.node.at(0));
  EXPECT_EQ(trouble.reason, "the model failed: no");
  EXPECT_FALSE(trouble.at.known());
}

}  // namespace
}  // namespace muster::replica_context_test
