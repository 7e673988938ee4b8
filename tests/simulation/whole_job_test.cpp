// A whole job in virtual time: same seed, same trace; any seed, any replicas, the oracle's bits.
#include <gtest/gtest.h>

#include "tests/simulation/oracle.hpp"
#include "tests/simulation/simulate.hpp"
#include "tests/support/linear_job.hpp"

namespace muster::simulation {
namespace {

Job small_job(std::uint32_t shards, std::uint32_t replicas) {
  Job job = testing::linear_job({.samples = 101, .test_samples = 23, .inputs = 6, .outputs = 3, .seed = 5});
  job.name = "simulated";
  job.seed = 11;
  job.train.shards = shards;
  job.train.batch = 4;
  job.train.epochs = 2;
  job.train.optimizer.learning_rate.initial = 0.02;
  job.train.optimizer.momentum = 0.9;
  job.cluster.replicas = replicas;
  return job;
}

TEST(WholeJob, TheSameSeedGivesTheSameTraceAndTheOraclesBits) {
  const Registry registry = builtin_registry();
  const Job job = small_job(5, 3);
  const auto oracle = train_plainly(job, registry);
  const auto first = simulate(job, registry, {.seed = 42});
  const auto second = simulate(job, registry, {.seed = 42});
  ASSERT_TRUE(first.report && second.report);
  EXPECT_EQ(first.report->outcome, "completed") << first.report->reason;
  EXPECT_EQ(first.trace_hash, second.trace_hash);
  EXPECT_EQ(first.deliveries, second.deliveries);
  EXPECT_EQ(first.report->weights_sha256, oracle.weights_sha256);
  EXPECT_EQ(first.report->steps, oracle.steps);
}

TEST(WholeJob, AnotherSeedTakesAnotherWayToTheSameBits) {
  const Registry registry = builtin_registry();
  const Job job = small_job(5, 3);
  const auto oracle = train_plainly(job, registry);
  const auto first = simulate(job, registry, {.seed = 1});
  const auto second = simulate(job, registry, {.seed = 2});
  ASSERT_TRUE(first.report && second.report);
  EXPECT_NE(first.trace_hash, second.trace_hash);
  EXPECT_EQ(first.report->weights_sha256, oracle.weights_sha256);
  EXPECT_EQ(second.report->weights_sha256, oracle.weights_sha256);
}

TEST(WholeJob, EverySplitOfTheShardsGivesTheOraclesBits) {
  const Registry registry = builtin_registry();
  std::uint64_t seed = 100;
  for (const std::uint32_t shards : {1u, 2u, 7u, 8u}) {
    const auto oracle = train_plainly(small_job(shards, 1), registry);
    for (std::uint32_t replicas = 1; replicas <= shards; ++replicas) {
      for (const std::uint32_t loaders : {0u, 2u}) {
        Job job = small_job(shards, replicas);
        job.cluster.loaders = loaders;
        const auto result = simulate(job, registry, {.seed = ++seed});
        ASSERT_TRUE(result.report) << "hung: seed " << seed;
        ASSERT_EQ(result.report->outcome, "completed") << result.report->reason << " seed " << seed;
        EXPECT_EQ(result.report->weights_sha256, oracle.weights_sha256)
            << shards << " shards, " << replicas << " replicas, " << loaders << " loaders, seed " << seed;
        ASSERT_EQ(result.report->epochs.size(), 2u);
        for (const EpochEnd& epoch : result.report->epochs) {
          EXPECT_TRUE(epoch.complete && epoch.evaluated);
          EXPECT_EQ(epoch.used, 101u);
          EXPECT_EQ(epoch.repeated + epoch.missed + epoch.dropped, 0u);
        }
      }
    }
  }
}

TEST(WholeJob, ANodeThatVanishesFromTheNetworkEndsTheRunWithItsName) {
  const Registry registry = builtin_registry();
  Job job = small_job(6, 3);
  job.train.epochs = 50;
  job.cluster.on_loss = OnLoss::fail;
  SimulationOptions options{.seed = 7};
  options.on_event = [](const Event& event, const std::function<void(const std::string&)>& cut) {
    if (event.name == "epoch" && event.integer("epoch") == 2) cut("replica 1");
  };
  const auto result = simulate(job, registry, options);
  ASSERT_TRUE(result.report) << "hung";
  EXPECT_EQ(result.report->outcome, "failed");
  EXPECT_NE(result.report->reason.find("replica 1"), std::string::npos) << result.report->reason;
  EXPECT_EQ(result.report->event_counts.count("lost"), 1u);
}

TEST(WholeJob, ASlowLoaderIsSaidToStarveItsReplica) {
  const Registry registry = builtin_registry();
  const Job job = small_job(4, 2);
  SimulationOptions slow{.seed = 3};
  slow.loading_max = std::chrono::milliseconds(500);
  const auto starved = simulate(job, registry, slow);
  ASSERT_TRUE(starved.report);
  EXPECT_GT(starved.report->event_counts.at("starved"), 10u);
  SimulationOptions fast{.seed = 3};
  fast.loading_max = std::chrono::microseconds(10);
  fast.compute_max = std::chrono::milliseconds(200);
  const auto fed = simulate(job, registry, fast);
  ASSERT_TRUE(fed.report);
  EXPECT_EQ(fed.report->event_counts.count("starved"), 0u);
  EXPECT_EQ(fed.report->weights_sha256, starved.report->weights_sha256);
}

TEST(WholeJob, ManySeedsCompleteInTheSameBits) {
  const Registry registry = builtin_registry();
  const Job job = small_job(4, 2);
  const auto oracle = train_plainly(job, registry);
  for (std::uint64_t seed = 1000; seed < 1050; ++seed) {
    const auto result = simulate(job, registry, {.seed = seed});
    ASSERT_TRUE(result.report) << "hung: seed " << seed;
    ASSERT_EQ(result.report->weights_sha256, oracle.weights_sha256) << "seed " << seed;
  }
}

}  // namespace
}  // namespace muster::simulation
