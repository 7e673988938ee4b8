// A step whose numbers are not finite ends the run, and one replica writes the weights before it: also where
// that one, or one that has a part of them, is lost meanwhile.
#include <gtest/gtest.h>

#include "muster/job_file.hpp"
#include "tests/simulation/simulate.hpp"
#include "tests/support/faulty_disk.hpp"
#include "tests/support/linear_job.hpp"

namespace muster::simulation {
namespace {

using std::chrono::milliseconds;

Job overflowing_job(bool sharded) {
  Job job = testing::linear_job({.samples = 61});
  job.name = "overflows";
  job.seed = 3;
  job.train.shards = 4;
  job.train.batch = 3;
  job.train.epochs = 3;
  job.train.optimizer.learning_rate.initial = 1e6;
  job.train.shard_optimizer = sharded;
  job.cluster.replicas = 3;
  job.cluster.on_loss = OnLoss::go_on;
  job.checkpoint = {"disk", {1000, Interval::Unit::steps}, 3};
  return with_defaults(job, builtin_registry().declarations());
}

struct Ended {
  SimulationResult result;
  std::string reason;              ///< without who says so, and where the weights are
  std::vector<std::byte> weights;  ///< of the last checkpoint
  bool lost = false;               ///< a replica
};

Ended run_with(const Job& job, SimulationOptions options) {
  Ended ended;
  auto disk = std::make_shared<FaultyDisk>(options.seed);
  options.disk = disk;
  ended.result = simulate(job, builtin_registry(), options);
  if (!ended.result.report) return ended;
  const Report& report = *ended.result.report;
  const std::string where = "; the state is kept in disk/";
  const std::size_t found = report.reason.find(where);
  EXPECT_NE(found, std::string::npos) << report.reason;
  if (found == std::string::npos) return ended;
  const std::size_t begin = report.reason.find(": ");
  ended.reason = report.reason.substr(begin, found - begin);
  const std::string file = report.reason.substr(found + where.size());
  EXPECT_TRUE(disk->holds(file)) << file;
  if (disk->holds(file)) ended.weights = disk->read(file);
  ended.lost = report.event_counts.count("lost") > 0;
  return ended;
}

class NotFinite : public ::testing::TestWithParam<bool> {};

TEST_P(NotFinite, TheWeightsBeforeItAreKeptWhoeverIsLostMeanwhile) {
  const Job job = overflowing_job(GetParam());
  std::uint64_t lost = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Ended undisturbed = run_with(job, {.seed = seed, .disk_max = milliseconds(50)});
    ASSERT_TRUE(undisturbed.result.report) << "hung: seed " << seed;
    ASSERT_EQ(undisturbed.result.report->outcome, "failed");
    ASSERT_FALSE(undisturbed.weights.empty());
    for (const char* victim : {"replica 0", "replica 1"}) {
      for (int before = 0; before < 150; before += 10) {
        const Nanoseconds when = undisturbed.result.virtual_time - milliseconds(before);
        const Ended ended =
            run_with(job, {.seed = seed, .losses = {{when, victim}}, .disk_max = milliseconds(50)});
        const std::string what =
            std::string(victim) + " " + std::to_string(before) + " ms before, seed " + std::to_string(seed);
        ASSERT_TRUE(ended.result.report) << "hung: " << what;
        ASSERT_EQ(ended.result.report->outcome, "failed") << what;
        ASSERT_EQ(ended.reason, undisturbed.reason) << what;
        ASSERT_EQ(ended.weights, undisturbed.weights) << what;
        lost += ended.lost ? 1 : 0;
      }
    }
  }
  EXPECT_GT(lost, 100u);
}

// Those who do not write wait for the one that does: they do not hang.
TEST_P(NotFinite, NobodyIsLostWhileItIsWritten) {
  Job job = overflowing_job(GetParam());
  job.cluster.straggler.stuck_after = milliseconds(200);
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Ended ended = run_with(job, {.seed = seed, .disk_max = milliseconds(2000)});
    ASSERT_TRUE(ended.result.report) << "hung: seed " << seed;
    EXPECT_FALSE(ended.weights.empty()) << "seed " << seed;
    EXPECT_FALSE(ended.lost) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(, NotFinite, ::testing::Bool(),
                         [](const auto& given) { return given.param ? "Sharded" : "Whole"; });

}  // namespace
}  // namespace muster::simulation
