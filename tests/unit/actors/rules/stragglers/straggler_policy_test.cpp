#include "actors/rules/stragglers/straggler_policy.hpp"

#include <gtest/gtest.h>

#include "config/schema/schema.hpp"

namespace muster {
namespace {

TEST(StragglerPolicy, HasARowForEveryActionOfAJob) {
  ASSERT_EQ(std::size(kStragglerPolicies), find_key("cluster.straggler.action")->value.choices.size());
  for (std::size_t i = 0; i < std::size(kStragglerPolicies); ++i) {
    const auto action = static_cast<StragglerAction>(i);
    EXPECT_EQ(straggler_policy(action).action, action);
  }
}

TEST(StragglerPolicy, WaitDoesNothing) {
  const StragglerPolicy& wait = straggler_policy(ClusterConfig{});
  EXPECT_EQ(wait.action, StragglerAction::wait);
  EXPECT_TRUE(wait.step_waits);
  EXPECT_FALSE(wait.evicts || wait.moves_shards || wait.backup_tasks);
}

TEST(StragglerPolicy, EveryOtherActionDoesOneThing) {
  for (const StragglerPolicy& policy : kStragglerPolicies) {
    if (policy.action == StragglerAction::wait) continue;
    EXPECT_EQ(!policy.step_waits + policy.evicts + policy.moves_shards + policy.backup_tasks, 1);
  }
}

TEST(StragglerPolicy, TheWeightsDifferOnlyWhereAStepGoesOnWithoutAReplica) {
  for (const StragglerPolicy& policy : kStragglerPolicies) EXPECT_EQ(policy.same_bits, policy.step_waits);
}

}  // namespace
}  // namespace muster
