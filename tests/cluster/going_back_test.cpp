// All have to go back to a checkpoint, for parts of the optimizer are lost with two replicas, and no replica
// can read the newest one.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/cluster/muster_process.hpp"
#include "tests/cluster/paced_job.hpp"

namespace muster::going_back_test {
namespace {

using namespace muster::cluster_test;

void damage_the_weights_in(const std::string& folder) {
  for (const auto& each : std::filesystem::directory_iterator(folder)) {
    const std::string name = each.path().string();
    if (!name.ends_with(".safetensors") || name.ends_with(".optimizer.safetensors")) continue;
    std::fstream file(name, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(-3, std::ios::end);
    const int byte = file.peek();
    file.seekp(-3, std::ios::end);
    file.put(static_cast<char>(byte ^ 0x55));
    ASSERT_TRUE(file.flush());
  }
}

struct Trained {
  Outcome outcome;
  Json report;
  int count(const char* event) const {
    return report["event_counts"].contains(event) ? report["event_counts"][event].get<int>() : 0;
  }
  bool says(const std::string& text) const {
    return std::ranges::any_of(report["events"], [&](const Json& event) {
      return event["event"] == "notice" && event["text"].get<std::string>().find(text) != std::string::npos;
    });
  }
};

/// With four replicas and checkpoints of steps 300 and 600. After the first one, two are killed, if any.
Trained run_with(bool killed, bool damaged) {
  const Folder folder;
  Arguments arguments{
      "run",
      folder.write("job.toml",
                   paced_job({.epochs = 100, .optimizer = "adamw", .checkpoint_every = "300 steps"})),
      "--replicas",
      "4",
      "--events",
      "-",
      "--report",
      folder.path("report.json"),
      "--set",
      "train.shard_optimizer=true"};
  const Arguments sets = paced_sets(folder);
  arguments.insert(arguments.end(), sets.begin(), sets.end());
  MusterProcess process(arguments, {}, "muster_paced");
  const std::map<int, pid_t> pids = process.replicas(4);
  EXPECT_EQ(pids.size(), 4u);
  if (killed) {
    EXPECT_EQ(process.event("checkpoint")["step"], 300);
    if (damaged) damage_the_weights_in(folder.path("kept"));
    for (const int slot : {2, 3}) EXPECT_EQ(::kill(pids.at(slot), SIGKILL), 0);
  }
  folder.write("gate", "");
  Trained run;
  run.outcome = process.wait();
  EXPECT_TRUE(process.none_left_within(std::chrono::seconds(2)));
  run.report = read_json(folder.path("report.json"));
  return run;
}

void expect_the_same(const Trained& run, const Trained& undisturbed) {
  ASSERT_EQ(undisturbed.outcome.code, 0) << undisturbed.outcome.err;
  ASSERT_EQ(run.outcome.code, 0) << run.outcome.err;
  EXPECT_EQ(run.report["weights_sha256"], undisturbed.report["weights_sha256"]);
  EXPECT_EQ(run.report["ledger"], undisturbed.report["ledger"]);
  EXPECT_EQ(run.count("lost"), 2);
  EXPECT_EQ(run.count("went_back"), 1);
}

TEST(GoingBack, ADamagedCheckpointIsPassedOver) {
  const Trained undisturbed = run_with(false, false);
  const Trained whole = run_with(true, false);
  expect_the_same(whole, undisturbed);
  EXPECT_FALSE(whole.says("is damaged"));
  const Trained damaged = run_with(true, true);
  expect_the_same(damaged, undisturbed);
  EXPECT_TRUE(damaged.says("is damaged: its SHA-256 is another one; the run goes to the beginning"))
      << damaged.report["events"];
}

}  // namespace
}  // namespace muster::going_back_test
