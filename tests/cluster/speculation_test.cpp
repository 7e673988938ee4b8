// A replica whose computation stands still while its process lives: others compute its shards for that step.
// A file decides how long it stands.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "tests/cluster/muster_process.hpp"

namespace muster::speculation_test {
namespace {

using namespace muster::cluster_test;
using namespace std::chrono_literals;

std::string held_job(const Folder& folder) {
  std::string job = linear_job();
  job.replace(job.find("\"linear\"\ninputs"), 15, "\"held\"\nhold = \"" + folder.path("hold") + "\"\ninputs");
  job.replace(job.find("epochs = 2"), 10, "epochs = 150\nevaluate = false");
  return job;
}

TEST(Speculation, OthersDoTheStepOfOneWhoseComputationStandsStill) {
  const Folder folder, calm;
  const Arguments common{"--set", "cluster.straggler.action=speculate", "--set",
                         "cluster.straggler.patience=300ms"};
  Arguments arguments{"run",        folder.write("job.toml", held_job(folder)),
                      "--replicas", "3",
                      "--events",   "-",
                      "--report",   folder.path("report.json")};
  arguments.insert(arguments.end(), common.begin(), common.end());
  MusterProcess run(arguments, {}, "muster_paced");
  std::map<int, pid_t> pids;
  for (int slot = 0; slot < 3; ++slot) {
    const Json joined = run.event("joined");
    ASSERT_TRUE(joined.is_object());
    pids[joined["replica"].get<int>()] = joined["pid"].get<pid_t>();
  }
  ASSERT_TRUE(run.event("epoch", [](const Json& event) { return event["epoch"] >= 3; }).is_object());
  const std::string hold = folder.path("hold") + "." + std::to_string(pids[1]);
  std::ofstream(hold).put('x');
  const Json speculated = run.event("speculated");
  // That step is done while replica 1 still computes it: it is late with the next one's header.
  const Json late = run.event("late", [&](const Json& event) {
    return speculated.is_object() && event["replica"] == 1 && event["waited_for"] == "its header" &&
           event["step"] == speculated["step"].get<int>() + 1;
  });
  std::remove(hold.c_str());
  ASSERT_TRUE(speculated.is_object());
  EXPECT_EQ(speculated["instead_of"], 1);
  EXPECT_EQ(speculated["shards"], "2-3");
  EXPECT_NE(speculated["replica"], 1);
  EXPECT_TRUE(late.is_object());
  const Outcome outcome = run.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Json report = read_json(folder.path("report.json"));
  EXPECT_FALSE(report["event_counts"].contains("lost"));

  std::string job = linear_job();
  job.replace(job.find("epochs = 2"), 10, "epochs = 150\nevaluate = false");
  const Json expected = run_job(calm.write("job.toml", job), calm, {"--replicas", "1"}).report;
  EXPECT_EQ(report["weights_sha256"], expected["weights_sha256"]);
  EXPECT_EQ(report["ledger"], expected["ledger"]);
}

}  // namespace
}  // namespace muster::speculation_test
