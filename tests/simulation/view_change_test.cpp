// Replicas are lost at any moment; the run goes on in a new view, and ends with the oracle's bits and an
// exact ledger.
#include <gtest/gtest.h>

#include <random>

#include "tests/simulation/oracle.hpp"
#include "tests/simulation/simulate.hpp"
#include "tests/support/linear_job.hpp"
#include "tests/support/sanitized.hpp"

namespace muster::simulation {
namespace {

Job job_that_goes_on(std::uint32_t shards, std::uint32_t replicas, std::uint32_t loaders) {
  Job job = testing::linear_job({.samples = 61, .test_samples = 17});
  job.name = "views";
  job.seed = 3;
  job.train.shards = shards;
  job.train.batch = 3;
  job.train.epochs = 3;
  job.train.optimizer.learning_rate.initial = 0.03;
  job.train.optimizer.momentum = 0.9;
  job.cluster.replicas = replicas;
  job.cluster.loaders = loaders;
  job.cluster.on_loss = OnLoss::go_on;
  return job;
}

void expect_undisturbed(const SimulationResult& result, const OracleResult& oracle, std::uint64_t seed) {
  ASSERT_TRUE(result.report) << "hung: seed " << seed;
  ASSERT_EQ(result.report->outcome, "completed") << result.report->reason << " seed " << seed;
  EXPECT_EQ(result.report->weights_sha256, oracle.weights_sha256) << "seed " << seed;
  EXPECT_EQ(result.report->steps, oracle.steps) << "seed " << seed;
  ASSERT_EQ(result.report->epochs.size(), 3u) << "seed " << seed;
  for (const EpochEnd& epoch : result.report->epochs) {
    EXPECT_TRUE(epoch.complete) << "seed " << seed;
    EXPECT_EQ(epoch.used, 61u) << "seed " << seed;
    EXPECT_EQ(epoch.repeated + epoch.missed + epoch.dropped, 0u) << "seed " << seed;
  }
}

TEST(ViewChange, OneIsLostAtAnyMomentAndTheBitsAreTheSame) {
  const Registry registry = builtin_registry();
  const Job job = job_that_goes_on(6, 3, 0);
  const auto oracle = train_plainly(job, registry);
  std::uint64_t lost = 0;
  for (std::uint64_t seed = 1; seed <= 600; seed += kSanitized ? 4 : 1) {
    SimulationOptions options{.seed = seed, .gpus = seed > 300};
    options.losses = {
        {std::chrono::milliseconds(20 + seed * 3 % 420), "replica " + std::to_string(seed % 3)}};
    const auto result = simulate(job, registry, options);
    expect_undisturbed(result, oracle, seed);
    if (HasFatalFailure()) return;
    lost += result.report->event_counts.count("lost");
  }
  EXPECT_GT(lost, kSanitized ? 100u : 400u);  // most were lost before the end, not after it
}

TEST(ViewChange, AllButOneAreLostOneAfterTheOtherOrTogether) {
  const Registry registry = builtin_registry();
  for (const std::uint32_t shards : {4u, 5u, 8u}) {
    const Job job = job_that_goes_on(shards, 4, shards == 5 ? 1 : 0);
    const auto oracle = train_plainly(job, registry);
    for (std::uint64_t seed = 1; seed <= 150; seed += kSanitized ? 3 : 1) {
      std::mt19937_64 random(seed * 77);
      SimulationOptions options{.seed = seed, .gpus = seed % 2 == 0};
      std::uint32_t spared = static_cast<std::uint32_t>(random() % 4);
      auto when = std::chrono::milliseconds(20 + random() % 700);
      for (std::uint32_t slot = 0; slot < 4; ++slot) {
        if (slot == spared) continue;
        options.losses.push_back({when, "replica " + std::to_string(slot)});
        when += std::chrono::milliseconds(random() % 3 == 0 ? 0 : random() % 120);
      }
      const auto result = simulate(job, registry, options);
      expect_undisturbed(result, oracle, seed);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ViewChange, BelowMinReplicasTheRunPausesAndGivesUpInTheEnd) {
  const Registry registry = builtin_registry();
  Job job = job_that_goes_on(4, 2, 0);
  job.cluster.min_replicas = 2;
  SimulationOptions options{.seed = 5};
  options.losses = {{std::chrono::milliseconds(150), "replica 1"}};
  const auto result = simulate(job, registry, options);
  ASSERT_TRUE(result.report);
  EXPECT_EQ(result.report->outcome, "failed");
  EXPECT_EQ(result.report->event_counts.count("paused"), 1u);
  EXPECT_NE(result.report->reason.find("cluster.give_up_after"), std::string::npos) << result.report->reason;
  EXPECT_GE(result.virtual_time, job.cluster.give_up_after);
}

}  // namespace
}  // namespace muster::simulation
