// A replica whose computation stands still, in a job that would rather go on: the step is done without it,
// and its samples come back at the end of the epoch.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "tests/cluster/muster_process.hpp"

namespace muster::drop_test {
namespace {

using namespace muster::cluster_test;

constexpr int kEpochs = 60;
constexpr int kStepsEach = 16;  // 1,237 samples on five shards, sixteen at a time

std::string job_of(const std::string& model) {
  std::string job = linear_job();
  job.replace(job.find("\"linear\"\ninputs"), 15, model + "\ninputs");
  return job.replace(job.find("epochs = 2"), 10, "epochs = " + std::to_string(kEpochs));
}

TEST(Drop, AStepGoesOnWithoutOneWhoseComputationStandsStill) {
  const Folder folder;
  const std::string job = job_of("\"held\"\nhold = \"" + folder.path("hold") + "\"");
  MusterProcess run({"run", folder.write("job.toml", job), "--replicas", "3", "--events", "-", "--report",
                     folder.path("report.json"), "--set", "cluster.straggler.action=drop", "--set",
                     "cluster.straggler.patience=200ms"},
                    {}, "muster_paced");
  std::map<int, pid_t> pids;
  for (int slot = 0; slot < 3; ++slot) {
    const Json joined = run.event("joined");
    ASSERT_TRUE(joined.is_object());
    pids[joined["replica"].get<int>()] = joined["pid"].get<pid_t>();
  }
  ASSERT_TRUE(run.event("epoch", [](const Json& event) { return event["epoch"] >= 2; }).is_object());
  const std::string hold = folder.path("hold") + "." + std::to_string(pids[1]);
  std::ofstream(hold).put('x');
  // The others have done the step; the one that stands still says so when it may go on.
  ASSERT_TRUE(run.event("late", [](const Json& event) { return event["replica"] == 1; }).is_object());
  ASSERT_TRUE(run.event("view", [](const Json& event) { return event["view"] >= 2; }).is_object());
  std::remove(hold.c_str());
  const Json dropped = run.event("dropped");
  ASSERT_TRUE(dropped.is_object());
  EXPECT_EQ(dropped["replica"], 1);
  EXPECT_EQ(dropped["shards"], "2-3");
  const Outcome outcome = run.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;

  const Json report = read_json(folder.path("report.json"));
  EXPECT_FALSE(report["event_counts"].contains("lost"));
  ASSERT_EQ(report["ledger"].size(), static_cast<std::size_t>(kEpochs));
  for (const Json& row : report["ledger"]) {
    EXPECT_TRUE(row["complete"].get<bool>());
    EXPECT_EQ(row["used"], 1237);
    EXPECT_EQ(row["repeated"].get<int>() + row["missed"].get<int>() + row["dropped"].get<int>(), 0);
  }
  EXPECT_EQ(report["steps"].get<int>(), kEpochs * kStepsEach + report["event_counts"]["dropped"].get<int>());
}

}  // namespace
}  // namespace muster::drop_test
