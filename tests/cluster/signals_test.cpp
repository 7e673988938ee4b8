// A run that is told to end, and a launcher that is killed.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/cluster/muster_process.hpp"

namespace {

using namespace muster::cluster_test;
using namespace std::chrono_literals;

/// A run that does not end by itself, seen in the middle of training.
struct LongRun {
  explicit LongRun(const Arguments& more = {}) : process(arguments(folder, more)) {
    const Json epoch = process.event("epoch", [](const Json& event) { return event["epoch"] >= 3; });
    EXPECT_TRUE(epoch.is_object()) << "the run does not get going";
  }
  static Arguments arguments(const Folder& folder, const Arguments& more) {
    std::string text = linear_job();
    text.replace(text.find("epochs = 2"), 10, "epochs = 1000000000\nevaluate = false");
    Arguments all{"run",      folder.write("job.toml", text), "--events", "-",
                  "--report", folder.path("report.json")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Json report() const { return read_json(folder.path("report.json")); }

  Folder folder;
  MusterProcess process;
};

void expect_interrupted(int number, int code, const std::string& name, const Arguments& more = {}) {
  LongRun run(more);
  run.process.signal(number);
  const Outcome outcome = run.process.wait();
  EXPECT_EQ(outcome.code, code);
  EXPECT_TRUE(run.process.alive().empty());
  const Json report = run.report();
  EXPECT_EQ(report["outcome"], "interrupted");
  EXPECT_EQ(report["reason"], name);
  EXPECT_EQ(report["event_counts"]["interrupted"], 1);
  EXPECT_GT(report["steps"], 0);
  EXPECT_NE(outcome.err.find("interrupted"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("\"event\":\"interrupted\""), std::string::npos);
}

TEST(Signals, InterruptEndsTheRunWithItsReport) {
  expect_interrupted(SIGINT, 130, "SIGINT");
}
TEST(Signals, TerminateEndsTheRunWithItsReport) {
  expect_interrupted(SIGTERM, 143, "SIGTERM");
}
TEST(Signals, ReplicasInTheSameProcessEndToo) {
  expect_interrupted(SIGTERM, 143, "SIGTERM", {"--in-process"});
}

TEST(Signals, SecondOneEndsEverythingAtOnce) {
  LongRun run;
  run.process.signal(SIGINT);
  run.process.signal(SIGTERM);
  const auto began = std::chrono::steady_clock::now();
  const Outcome outcome = run.process.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - began, 1s);
  EXPECT_TRUE(outcome.code == 130 || outcome.code == 143) << outcome.code;
  EXPECT_TRUE(run.process.none_left_within(1s));
}

TEST(Signals, FrozenReplicaDoesNotHoldUpTheEnd) {
  LongRun run;
  for (const pid_t pid : run.process.alive()) {
    if (pid != run.process.pid()) ::kill(pid, SIGSTOP);
  }
  const auto began = std::chrono::steady_clock::now();
  run.process.signal(SIGTERM);
  EXPECT_EQ(run.process.wait().code, 143);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 2s);
  EXPECT_TRUE(run.process.alive().empty());
}

TEST(Signals, InterruptWhileReplicasStartLeavesNothing) {
  const Folder folder;
  MusterProcess process(LongRun::arguments(folder, {}));
  ASSERT_TRUE(process.event("started").is_object());
  process.signal(SIGINT);
  EXPECT_EQ(process.wait().code, 130);
  EXPECT_TRUE(process.alive().empty());
  EXPECT_EQ(read_json(folder.path("report.json"))["outcome"], "interrupted");
}

TEST(Signals, KilledLauncherLeavesNoProcess) {
  for (const char* loaders : {"cluster.loaders=0", "cluster.loaders=1"}) {
    LongRun run({"--set", loaders});
    EXPECT_GE(run.process.alive().size(), 3u) << "launcher and two replicas";
    run.process.signal(SIGKILL);
    EXPECT_EQ(run.process.wait().code, 128 + SIGKILL);
    EXPECT_TRUE(run.process.none_left_within(2s));
  }
}

TEST(Signals, LauncherKilledWhileReplicasStartLeavesNoProcess) {
  const Folder folder;
  MusterProcess process(LongRun::arguments(folder, {}));
  ASSERT_TRUE(process.event("started").is_object());
  process.signal(SIGKILL);
  process.wait();
  EXPECT_TRUE(process.none_left_within(2s));
}

}  // namespace
