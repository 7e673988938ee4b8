// Checkpoints of a whole run on a disk that fails, and runs that go on from them: same bits, same ledger, on
// any number of replicas.
#include <gtest/gtest.h>

#include "actors/resume/resume.hpp"
#include "muster/job_file.hpp"
#include "tests/simulation/oracle.hpp"
#include "tests/simulation/simulate.hpp"
#include "tests/support/faulty_disk.hpp"
#include "tests/support/linear_job.hpp"

namespace muster::simulation {
namespace {

Job job_with(Interval every, std::uint32_t keep, std::uint32_t replicas) {
  Job job = testing::linear_job({.samples = 61, .test_samples = 17});
  job.name = "kept";
  job.seed = 6;
  job.train.shards = 4;
  job.train.batch = 3;
  job.train.epochs = 3;
  job.train.optimizer.kind = OptimizerKind::adam;
  job.train.optimizer.learning_rate.initial = 0.03;
  job.cluster.replicas = replicas;
  job.cluster.on_loss = OnLoss::go_on;
  job.checkpoint = {"disk", every, keep};
  return with_defaults(job, builtin_registry().declarations());
}

constexpr Interval kEveryStep{1, Interval::Unit::steps};
constexpr Interval kEveryEpoch{1, Interval::Unit::epochs};

struct Outcome {
  SimulationResult result;
  std::vector<Event> events;

  std::uint64_t count(const std::string& name) const {
    return static_cast<std::uint64_t>(
        std::count_if(events.begin(), events.end(), [&](const Event& event) { return event.name == name; }));
  }
  const Event& first(const std::string& name) const {
    return *std::find_if(events.begin(), events.end(),
                         [&](const Event& event) { return event.name == name; });
  }
};

Outcome run_on(const std::shared_ptr<Disk>& disk, const Job& job, SimulationOptions options) {
  Outcome outcome;
  options.disk = disk;
  options.on_event = [&outcome, then = options.on_event](const Event& event, const auto& cut) {
    outcome.events.push_back(event);
    if (then) then(event, cut);
  };
  outcome.result = simulate(job, builtin_registry(), options);
  return outcome;
}

void expect_whole(const Outcome& outcome, const OracleResult& oracle, const std::string& what) {
  ASSERT_TRUE(outcome.result.report) << "hung: " << what;
  const Report& report = *outcome.result.report;
  ASSERT_EQ(report.outcome, "completed") << report.reason << " " << what;
  EXPECT_EQ(report.weights_sha256, oracle.weights_sha256) << what;
  EXPECT_EQ(report.steps, oracle.steps) << what;
  EXPECT_EQ(report.samples, 3 * 61u) << what;
  ASSERT_EQ(report.epochs.size(), 3u) << what;
  for (const EpochEnd& epoch : report.epochs) {
    EXPECT_TRUE(epoch.complete && epoch.evaluated) << what;
    EXPECT_EQ(epoch.used, 61u) << what;
    EXPECT_EQ(epoch.repeated + epoch.missed + epoch.dropped, 0u) << what;
  }
}

// Removes the checkpoints after a step, as if the run had been killed there.
void give_up_after(Disk& disk, std::uint64_t step) {
  for (const auto& file : disk.list()) {
    if (parse_checkpoint_name(file.name, "")->step > step) disk.remove(file.name);
  }
}

TEST(Checkpoint, ARunThatGoesOnFromAnyOfThemEndsWithTheSameBits) {
  const Job job = job_with(kEveryStep, 1000, 2);
  const auto oracle = train_plainly(job, builtin_registry());
  for (std::uint64_t step = 1; step <= oracle.steps; ++step) {
    auto disk = std::make_shared<FaultyDisk>();
    const Outcome whole = run_on(disk, job, {.seed = step});
    expect_whole(whole, oracle, "the whole run");
    give_up_after(*disk, step);
    const Job other = job_with(kEveryEpoch, 1000, 1 + static_cast<std::uint32_t>(step % 4));
    const Outcome rest = run_on(disk, other, {.seed = step + 100, .resume = true});
    expect_whole(rest, oracle, "from step " + std::to_string(step));
    if (HasFatalFailure()) return;
    EXPECT_EQ(rest.count("resumed"), 1u);
    const auto from = rest.first("resumed").integer("step");
    EXPECT_LE(from, static_cast<std::int64_t>(step));
    EXPECT_GE(from + 3, static_cast<std::int64_t>(step));  // a few may be passed over while one is written
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(rest.result.report->epochs[i].same_as(whole.result.report->epochs[i]));
    }
  }
}

TEST(Checkpoint, OneIsWrittenAfterEachEpochAndOneAtTheEnd) {
  auto disk = std::make_shared<FaultyDisk>();
  const Job job = job_with(kEveryEpoch, 10, 3);
  const auto oracle = train_plainly(job, builtin_registry());
  const Outcome outcome = run_on(disk, job, {.seed = 8});
  expect_whole(outcome, oracle, "run");
  ASSERT_EQ(outcome.count("checkpoint"), 3u);
  EXPECT_EQ(outcome.first("checkpoint").integer("step"), static_cast<std::int64_t>(oracle.steps / 3));
  EXPECT_EQ(disk->list().size(), 12u);
  EXPECT_EQ(outcome.result.report->checkpoint,
            outcome.events[outcome.events.size() - 1].name == "completed"
                ? "disk/" + checkpoint_stem("kept", oracle.steps, oracle.weights_sha256, 1) + ".safetensors"
                : "");
}

TEST(Checkpoint, ARunThatWasCompleteCompletesAtOnce) {
  auto disk = std::make_shared<FaultyDisk>();
  const Job job = job_with(kEveryEpoch, 3, 2);
  const auto oracle = train_plainly(job, builtin_registry());
  expect_whole(run_on(disk, job, {.seed = 1}), oracle, "first");
  const Outcome again = run_on(disk, job, {.seed = 2, .resume = true});
  expect_whole(again, oracle, "again");
  EXPECT_EQ(again.count("epoch"), 0u);
}

TEST(Checkpoint, MoreEpochsAreTakenUpWhereTheLastOnesEnded) {
  auto disk = std::make_shared<FaultyDisk>();
  Job job = job_with(kEveryEpoch, 3, 2);
  const auto oracle = train_plainly(job, builtin_registry());
  job.train.epochs = 2;
  ASSERT_TRUE(run_on(disk, job, {.seed = 1}).result.report->completed());
  job.train.epochs = 3;
  expect_whole(run_on(disk, job, {.seed = 2, .resume = true}), oracle, "third epoch");
}

TEST(Checkpoint, TheWriterIsLostAndAnotherOneGoesOn) {
  const Job job = job_with(kEveryStep, 1000, 3);
  const auto oracle = train_plainly(job, builtin_registry());
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    auto disk = std::make_shared<FaultyDisk>(seed);
    SimulationOptions options{.seed = seed};
    options.losses = {{std::chrono::milliseconds(20 + seed * 11 % 700), "replica 0"}};
    expect_whole(run_on(disk, job, options), oracle, "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
    const Outcome again = run_on(disk, job, {.seed = seed + 1000, .resume = true});
    expect_whole(again, oracle, "again, seed " + std::to_string(seed));
    EXPECT_EQ(again.first("resumed").integer("step"), static_cast<std::int64_t>(oracle.steps));
  }
}

// The run was to end in the middle of an epoch, and is given more steps. Then parts of its state are lost.
TEST(Checkpoint, NobodyGoesBackToOneThatIsNotOnTheWay) {
  Job job = job_with({3, Interval::Unit::steps}, 1000, 4);
  job.train.shard_optimizer = true;
  job.train.epochs.reset();
  job.train.steps = 18;  // three epochs
  job.data.repeat = 3;
  job.cluster.min_replicas = 1;
  const auto oracle = train_plainly(job, builtin_registry());
  std::uint64_t passed_over = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    auto disk = std::make_shared<FaultyDisk>(seed);
    Job cut = job;
    cut.train.steps = 10;
    ASSERT_TRUE(run_on(disk, cut, {.seed = seed}).result.report->completed());
    SimulationOptions options{.seed = seed, .resume = true};
    const std::chrono::milliseconds at(60 + seed * 15);
    options.losses = {{at, "replica 2"}, {at, "replica 3"}};
    const Outcome again = run_on(disk, job, options);
    expect_whole(again, oracle, "seed " + std::to_string(seed));
    passed_over += std::ranges::count_if(again.events, [](const Event& event) {
      return event.name == "notice" &&
             event.text("text").find("was cut short by another train.steps; the run goes to") !=
                 std::string::npos;
    });
  }
  EXPECT_GT(passed_over, 0u) << "no loss came when the newest one was not on the way";
}

TEST(Checkpoint, AFullDiskOnTheWayIsAnEventAndTheRunCompletes) {
  const Job job = job_with(kEveryEpoch, 3, 2);
  const auto oracle = train_plainly(job, builtin_registry());
  auto disk = std::make_shared<FaultyDisk>();
  disk->set_room(1000);
  SimulationOptions options{.seed = 3};
  options.on_event = [&](const Event& event, const auto&) {
    if (event.name == "checkpoint_delayed") disk->set_room(1 << 20);
  };
  const Outcome outcome = run_on(disk, job, options);
  expect_whole(outcome, oracle, "full disk");
  EXPECT_EQ(outcome.count("checkpoint_failed"), 0u);
  ASSERT_GE(outcome.count("checkpoint_delayed"), 1u);
  const Event delayed = outcome.first("checkpoint_delayed");
  EXPECT_NE(delayed.text("reason").find("No space"), std::string::npos);
  EXPECT_NE(delayed.text("advice").find("free space"), std::string::npos);
  EXPECT_GT(delayed.integer("needed_bytes"), 1000);
  EXPECT_GE(outcome.count("checkpoint"), 2u) << "the refused one was written again, and the last one";
}

TEST(Checkpoint, WithoutALastOneTheRunHasFailedAndSaysWhy) {
  auto disk = std::make_shared<FaultyDisk>();
  disk->set_read_only(true);
  Job job = job_with(kEveryEpoch, 3, 2);
  job.cluster.give_up_after = std::chrono::seconds(30);
  const Outcome outcome = run_on(disk, job, {.seed = 3});
  ASSERT_TRUE(outcome.result.report);
  EXPECT_EQ(outcome.result.report->outcome, "failed");
  EXPECT_GE(outcome.result.virtual_time, job.cluster.give_up_after);
  EXPECT_NE(outcome.result.report->reason.find("last checkpoint"), std::string::npos);
  EXPECT_GE(outcome.count("checkpoint_failed"), 1u);
  EXPECT_EQ(outcome.result.report->epochs.size(), 3u);  // it was trained to its end
}

// The machine stops at any operation of the disk, with all replicas; the run goes on from what is there.
TEST(Checkpoint, AllStopAtAnyOperationOfTheDisk) {
  const Job job = job_with(kEveryStep, 2, 2);
  const auto oracle = train_plainly(job, builtin_registry());
  std::uint64_t from_nothing = 0, gone_on = 0;
  for (std::uint64_t at = 0; at < 160; ++at) {
    auto disk = std::make_shared<FaultyDisk>(at);
    disk->crash_at(at);
    SimulationOptions options{.seed = at};
    options.losses = {{std::chrono::milliseconds(250 + at * 2), "replica 0"},
                      {std::chrono::milliseconds(250 + at * 2), "replica 1"}};
    run_on(disk, job, options);
    disk->start_again();
    try {
      const Outcome rest = run_on(disk, job_with(kEveryStep, 2, 3), {.seed = at + 500, .resume = true});
      expect_whole(rest, oracle, "stopped at " + std::to_string(at));
      ++gone_on;
    } catch (const NothingToResume&) {
      ++from_nothing;
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(gone_on, 100u);
  EXPECT_LT(from_nothing, 30u);  // those that stopped within the first one
}

TEST(Checkpoint, NothingToGoOnFromSaysWhatWasPassedOver) {
  auto disk = std::make_shared<FaultyDisk>();
  const Job job = job_with(kEveryEpoch, 3, 2);
  EXPECT_THROW(run_on(disk, job, {.seed = 1, .resume = true}), NothingToResume);
  ASSERT_TRUE(run_on(disk, job, {.seed = 1}).result.report->completed());
  Job other = job;
  other.seed = 99;
  try {
    run_on(disk, other, {.seed = 1, .resume = true});
    FAIL() << "it went on";
  } catch (const NothingToResume& error) {
    EXPECT_NE(std::string(error.what()).find("another job"), std::string::npos) << error.what();
  }
  Job shorter = job;
  shorter.train.epochs = std::nullopt;
  shorter.train.steps = 1;
  try {
    run_on(disk, shorter, {.seed = 1, .resume = true});
    FAIL() << "it went on";
  } catch (const NothingToResume& error) {
    EXPECT_NE(std::string(error.what()).find("beyond train.steps"), std::string::npos) << error.what();
  }
}

TEST(Checkpoint, WhatIsDueWhileOneIsWrittenIsPassedOverAloud) {
  auto disk = std::make_shared<FaultyDisk>();
  SimulationOptions options{.seed = 5};
  options.disk_max = std::chrono::seconds(1);
  const Job job = job_with(kEveryStep, 1000, 2);
  const Outcome outcome = run_on(disk, job, options);
  expect_whole(outcome, train_plainly(job, builtin_registry()), "slow disk");
  EXPECT_GT(outcome.count("checkpoint_passed_over"), 3u);
  EXPECT_GE(outcome.count("checkpoint"), 2u);
}

}  // namespace
}  // namespace muster::simulation
