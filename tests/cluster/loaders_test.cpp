// Loader processes that freeze, die or are all gone: real processes. A thread that loads is frozen by a file
// that its source waits for (tests/namespaces/paced_main.cpp).
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "tests/cluster/muster_process.hpp"

namespace muster::loaders_test {
namespace {

using namespace muster::cluster_test;
using namespace std::chrono_literals;

class LoaderRun {
 public:
  LoaderRun(int loaders, const Arguments& more = {})
      : process_(arguments(loaders, more), {}, "muster_paced") {
    for (int left = 2 + loaders; left > 0; --left) {
      const Json joined = event("joined");
      if (joined.contains("loader")) pids_[joined["loader"].get<int>()] = joined["pid"].get<pid_t>();
    }
    event("epoch");
  }

  /// The next one of this name that is about a loader.
  Json loader_event(const std::string& name) {
    const Json event = process_.event(name, [](const Json& each) { return each.contains("loader"); });
    EXPECT_TRUE(event.is_object()) << name;
    return event;
  }
  Json event(const std::string& name) {
    const Json event = process_.event(name);
    EXPECT_TRUE(event.is_object()) << name;
    return event;
  }
  /// The thread that loads blocks in its next read; the process's other threads run.
  void freeze(int loader) { std::ofstream(folder_.path("hold." + std::to_string(pids_[loader]))) << "held"; }
  void kill(int loader) { EXPECT_EQ(::kill(pids_[loader], SIGKILL), 0); }
  /// Steps are quick from now on; the report.
  Json finish(int code = 0) {
    std::ofstream(folder_.path("gate")) << "open";
    outcome_ = process_.wait();
    EXPECT_EQ(outcome_.code, code) << outcome_.err;
    EXPECT_TRUE(process_.none_left_within(2s));
    return read_json(folder_.path("report.json"));
  }
  const Outcome& outcome() const { return outcome_; }
  /// Another run of the same job goes on from what this one has kept; its report.
  Json resume(int loaders, const Arguments& more) {
    Arguments all = arguments(loaders, more);
    all.push_back("--resume");
    MusterProcess process(all, {}, "muster_paced");
    EXPECT_TRUE(process.event("resumed").is_object());
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return read_json(folder_.path("report.json"));
  }

 private:
  Arguments arguments(int loaders, const Arguments& more) {
    const std::string job = R"(name = "loaders"
seed = 5
[model]
name = "linear"
inputs = 64
outputs = 1
[data]
source = "paced"
samples = 301
gate = ")" + folder_.path("gate") +
                            "\"\nhold = \"" + folder_.path("hold") + R"("
[train]
shards = 4
batch = 8
epochs = 30
[train.optimizer]
name = "sgd"
learning_rate = 0.001
[cluster]
replicas = 2
[cluster.straggler]
stuck_after = "2s"
)";
    Arguments all{
        "run",      folder_.write("job.toml", job), "--events", "-",
        "--report", folder_.path("report.json"),    "--set",    "cluster.loaders=" + std::to_string(loaders)};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  Folder folder_;
  MusterProcess process_;
  Outcome outcome_;
  std::map<int, pid_t> pids_;
};

void expect_undisturbed(const Json& report) {
  static const Json undisturbed = LoaderRun(2).finish();
  ASSERT_TRUE(report.is_object() && undisturbed.is_object());
  EXPECT_EQ(report["outcome"], "completed");
  EXPECT_EQ(report["weights_sha256"], undisturbed["weights_sha256"]);
  EXPECT_EQ(report["steps"], undisturbed["steps"]);
  EXPECT_EQ(report["ledger"], undisturbed["ledger"]);
}

TEST(Loaders, AFrozenLoaderThreadIsNamedAndReplacedByTheOtherLoader) {
  LoaderRun run(2);
  run.freeze(1);
  const Json late = run.loader_event("late");
  EXPECT_EQ(late.value("loader", -1), 1) << late;
  const Json lost = run.event("lost");
  EXPECT_EQ(lost.value("loader", -1), 1) << lost;
  EXPECT_NE(lost.value("reason", "").find("stuck_after"), std::string::npos) << lost;
  EXPECT_EQ(lost.value("noticed_by", ""), "replica 1");
  run.event("epoch");
  expect_undisturbed(run.finish());
}

TEST(Loaders, TheProcessOfAFrozenThreadEndsAndANewOneTakesItsPlace) {
  LoaderRun run(1, {"--set", "cluster.restart=on-loss"});
  run.freeze(0);
  EXPECT_EQ(run.event("lost").value("loader", -1), 0);
  run.event("paused");
  EXPECT_EQ(run.event("joined").value("loader", -1), 1) << "a new number";
  run.event("epoch");
  expect_undisturbed(run.finish());
}

TEST(Loaders, ReplicasLoadForThemselvesWhereNoLoaderIsLeft) {
  LoaderRun run(2, {"--set", "cluster.on_loader_loss=load_here"});
  run.kill(0);
  EXPECT_EQ(run.event("lost").value("loader", -1), 0);
  run.event("epoch");
  run.freeze(1);
  EXPECT_EQ(run.event("lost").value("loader", -1), 1);
  run.event("epoch");
  const Json report = run.finish();
  expect_undisturbed(report);
  EXPECT_FALSE(report["event_counts"].contains("paused")) << report["event_counts"];
}

void expect_failed_without_loaders(const Json& report) {
  ASSERT_TRUE(report.is_object());
  EXPECT_EQ(report["outcome"], "failed");
  EXPECT_NE(report["reason"].get<std::string>().find("no loader process is left"), std::string::npos)
      << report["reason"];
}

TEST(Loaders, TheLastOneEndsTheRunIfTheJobSaysSo) {
  LoaderRun run(1, {"--set", "cluster.on_loader_loss=fail"});
  run.kill(0);
  expect_failed_without_loaders(run.finish(1));
}

TEST(Loaders, ARunThatEndsWithItsLastLoaderKeepsItsState) {
  const Folder kept;
  const Arguments keep{"--set", "checkpoint.folder=" + kept.path("state"), "--set",
                       "checkpoint.every=1000000 steps"};
  Arguments fail{"--set", "cluster.on_loader_loss=fail"};
  fail.insert(fail.end(), keep.begin(), keep.end());
  LoaderRun run(1, fail);
  run.kill(0);
  const Json report = run.finish(1);
  expect_failed_without_loaders(report);
  EXPECT_EQ(report["event_counts"].value("state_kept", 0), 1) << report["event_counts"];
  EXPECT_NE(run.outcome().err.find("--resume"), std::string::npos) << run.outcome().err;
  EXPECT_LT(report["steps"], 300) << "its steps are not all of the job's";
  expect_undisturbed(run.resume(1, keep));
}

}  // namespace
}  // namespace muster::loaders_test
