#include "actors/rules/membership/local_errors.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

Failing failing(std::uint32_t slot, const ErrorPlace& at = {}, bool loader = false) {
  Failing message;
  message.name = {loader, slot};
  message.reason = "Input/output error";
  message.at = at;
  return message;
}

constexpr ErrorPlace kBatch{3, false, 2, 8};

TEST(LocalErrors, TheFirstOneCostsItsNode) {
  LocalErrors errors;
  EXPECT_FALSE(errors.judge(failing(0, kBatch), true).ends_run);
  EXPECT_FALSE(errors.judge(failing(1), true).ends_run);
}

TEST(LocalErrors, TheSecondNodeThatFailsAtAMicroBatchEndsTheRun) {
  LocalErrors errors;
  EXPECT_FALSE(errors.judge(failing(0, kBatch), true).ends_run);
  const auto verdict = errors.judge(failing(1, kBatch), true);
  EXPECT_TRUE(verdict.ends_run);
  EXPECT_TRUE(verdict.state_is_whole);
  for (const char* part : {"shard 3", "epoch 2", "step 8", "replica 0", "replica 1", "Input/output error"})
    EXPECT_NE(verdict.reason.find(part), std::string::npos) << verdict.reason;
}

TEST(LocalErrors, PeopleAreToldWhereTheyAre) {
  LocalErrors errors([](const NodeName& who) { return who.text() + " on host2"; });
  errors.judge(failing(0, kBatch), true);
  const std::string why = errors.judge(failing(1, kBatch), true).reason;
  EXPECT_NE(why.find("replica 0 on host2 and then replica 1 on host2"), std::string::npos) << why;
}

TEST(LocalErrors, OtherMicroBatchesAreOtherErrors) {
  for (const ErrorPlace& other : {ErrorPlace{4, false, 2, 8}, ErrorPlace{3, true, 2, 8},
                                  ErrorPlace{3, false, 1, 8}, ErrorPlace{3, false, 2, 9}}) {
    LocalErrors errors;
    EXPECT_FALSE(errors.judge(failing(0, kBatch), true).ends_run);
    EXPECT_FALSE(errors.judge(failing(1, other), true).ends_run) << other.text();
  }
}

TEST(LocalErrors, ALoaderAndAReplicaMayFailAtTheSameMicroBatch) {
  LocalErrors errors;
  EXPECT_FALSE(errors.judge(failing(0, kBatch, true), true).ends_run);
  EXPECT_TRUE(errors.judge(failing(0, kBatch), true).ends_run);
}

TEST(LocalErrors, ErrorsElsewhereDoNotAddUp) {
  LocalErrors errors;
  for (std::uint32_t slot = 0; slot < 5; ++slot) EXPECT_FALSE(errors.judge(failing(slot), true).ends_run);
}

TEST(LocalErrors, TheLastNodeOfItsKindEndsTheRun) {
  LocalErrors errors;
  const auto placed = errors.judge(failing(7, kBatch), false);
  EXPECT_TRUE(placed.ends_run);
  EXPECT_TRUE(placed.state_is_whole);
  EXPECT_NE(placed.reason.find("replica 7: Input/output error; no other replica is left"), std::string::npos);
  const auto elsewhere = errors.judge(failing(8), false);
  EXPECT_TRUE(elsewhere.ends_run);
  EXPECT_FALSE(elsewhere.state_is_whole);  // an update that failed may have left half of a step
  EXPECT_NE(errors.judge(failing(1, {}, true), false).reason.find("no other loader"), std::string::npos);
}

TEST(LocalErrors, WhatIsRememberedIsBounded) {
  LocalErrors errors;
  const auto place = [](std::size_t step) { return ErrorPlace{0, false, 1, step + 1}; };
  for (std::size_t step = 0; step <= LocalErrors::kPlacesMax; ++step)
    EXPECT_FALSE(errors.judge(failing(static_cast<std::uint32_t>(step), place(step)), true).ends_run);
  EXPECT_FALSE(errors.judge(failing(9999, place(0)), true).ends_run);  // forgotten
  EXPECT_TRUE(errors.judge(failing(9998, place(LocalErrors::kPlacesMax)), true).ends_run);
}

}  // namespace
}  // namespace muster
