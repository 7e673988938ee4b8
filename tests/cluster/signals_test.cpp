// A run that is told to end, and a launcher that is killed.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include "tests/cluster/muster_process.hpp"

namespace muster::signals_test {
namespace {

using namespace muster::cluster_test;
using namespace std::chrono_literals;

/// A run that does not end by itself, seen in the middle of training.
struct LongRun {
  explicit LongRun(const Arguments& more = {}, Group group = Group::of_the_test)
      : process(arguments(folder, more), {}, "muster", group) {
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

// Ctrl-C ends a `tee` behind it, too.
TEST(Signals, ARunWhoseReaderHasEndedGoesOn) {
  LongRun run({"--set", "train.epochs=2000"});
  run.process.close_output();
  const Outcome outcome = run.process.wait();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(run.report()["outcome"], "completed");
}

TEST(Signals, InterruptEndsTheRunWithItsReport) {
  expect_interrupted(SIGINT, 130, "SIGINT");
}
TEST(Signals, TerminateEndsTheRunWithItsReport) {
  expect_interrupted(SIGTERM, 143, "SIGTERM");
}
TEST(Signals, ATerminalThatIsGoneEndsTheRunWithItsReport) {
  expect_interrupted(SIGHUP, 129, "SIGHUP");
}
TEST(Signals, ReplicasInTheSameProcessEndToo) {
  expect_interrupted(SIGTERM, 143, "SIGTERM", {"--in-process"});
}

// What is resumed, and where it ends: the end of the job is set once it is known how far the first run came.
void expect_goes_on(int number, int code, const Arguments& more = {}) {
  const Folder kept;
  Arguments settings = more;
  settings.insert(settings.end(), {"--set", "checkpoint.folder=" + kept.path("state")});
  LongRun run(settings);
  run.process.signal(number);
  const Outcome outcome = run.process.wait();
  EXPECT_EQ(outcome.code, code) << outcome.err;
  EXPECT_TRUE(run.process.alive().empty());
  EXPECT_NE(outcome.err.find("muster run"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("--resume"), std::string::npos) << outcome.err;
  const Json report = run.report();
  EXPECT_EQ(report["outcome"], "interrupted");
  ASSERT_EQ(report["event_counts"]["state_kept"], 1) << outcome.err;
  ASSERT_FALSE(report["phases"].empty());
  for (const Json& phases : report["phases"]) {
    EXPECT_GT(phases["compute_s"], 0) << phases;
    EXPECT_LE(phases["compute_s"], report["wall_seconds"]) << phases;
  }
  EXPECT_EQ(report["traffic"].size(), report["phases"].size());
  EXPECT_GT(report["train_seconds"], 0);
  EXPECT_GT(report["samples_per_second"], 0);
  const auto steps = report["steps"].get<std::uint64_t>();  // 15 full ones an epoch, and one of the rest
  EXPECT_EQ(report["samples"], steps / 16 * 1237 + steps % 16 * 5 * 16) << steps;

  const Folder folder;
  const std::string job = folder.write("job.toml", linear_job());
  Arguments end = more;
  end.insert(end.end(), {"--set", "train.epochs=" + std::to_string(report["ledger"].size() + 2), "--set",
                         "train.evaluate=false"});
  Arguments resumes = end;
  resumes.insert(resumes.end(), {"--set", "checkpoint.folder=" + kept.path("state"), "--resume"});
  const RunResult resumed = run_job(job, folder, resumes), whole = run_job(job, folder, end);
  ASSERT_EQ(resumed.outcome.code, 0) << resumed.outcome.err;
  EXPECT_EQ(resumed.report["event_counts"]["resumed"], 1);
  EXPECT_EQ(resumed.report["weights_sha256"], whole.report["weights_sha256"]);
  EXPECT_EQ(resumed.report["ledger"], whole.report["ledger"]);
}

TEST(Signals, TerminateKeepsTheStateAndTheRunGoesOn) {
  expect_goes_on(SIGTERM, 143);
}
TEST(Signals, InterruptKeepsTheStateOfReplicasInTheSameProcess) {
  expect_goes_on(SIGINT, 130, {"--in-process"});
}
TEST(Signals, TerminateKeepsTheStateOfAShardedOptimizer) {
  expect_goes_on(
      SIGTERM, 143,
      {"--set", "train.shard_optimizer=true", "--set", "train.optimizer.name=adam", "--replicas", "3"});
}

// As a scheduler that ends a whole job does: the launcher and each process that it started.
TEST(Signals, TerminateToEveryProcessKeepsTheState) {
  const Folder kept;
  LongRun run({"--set", "checkpoint.folder=" + kept.path("state")});
  for (const pid_t pid : run.process.alive()) ::kill(pid, SIGTERM);
  EXPECT_EQ(run.process.wait().code, 143);
  EXPECT_TRUE(run.process.alive().empty());
  EXPECT_EQ(run.report()["event_counts"]["state_kept"], 1);
}

// The launcher is not told.
TEST(Signals, TerminateToEveryReplicaWithoutAFolderSaysWhyNothingIsKept) {
  LongRun run;
  for (const pid_t pid : run.process.alive()) {
    if (pid != run.process.pid()) ::kill(pid, SIGTERM);
  }
  const Outcome outcome = run.process.wait();
  EXPECT_EQ(outcome.code, 1);
  const Json report = run.report();
  EXPECT_EQ(report["outcome"], "interrupted");
  EXPECT_EQ(report["reason"],
            "every replica was asked to leave, and nothing is kept: checkpoint.folder is not set");
  EXPECT_EQ(outcome.err.find("newcomers"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("nothing is kept of "), std::string::npos) << outcome.err;
}

// Whoever of them hears of it first.
TEST(Signals, TerminateToEveryProcessWithoutAFolderIsAnInterruptedRun) {
  LongRun run;
  for (const pid_t pid : run.process.alive()) {
    if (pid != run.process.pid()) ::kill(pid, SIGTERM);
  }
  run.process.signal(SIGTERM);
  EXPECT_EQ(run.process.wait().code, 143);
  EXPECT_EQ(run.report()["outcome"], "interrupted");
  EXPECT_EQ(run.report()["reason"], "SIGTERM");
}

TEST(Signals, CtrlCAtATerminalKeepsTheState) {
  const Folder kept;
  LongRun run({"--set", "checkpoint.folder=" + kept.path("state")}, Group::own);
  run.process.signal_group(SIGINT);
  EXPECT_EQ(run.process.wait().code, 130);
  EXPECT_TRUE(run.process.alive().empty());
  EXPECT_EQ(run.report()["event_counts"].value("state_kept", 0), 1);
  EXPECT_FALSE(run.report()["event_counts"].contains("lost"));
}

TEST(Signals, FrozenReplicaDoesNotKeepOthersFromKeepingTheState) {
  const Folder kept;
  LongRun run({"--set", "checkpoint.folder=" + kept.path("state"), "--set", "cluster.detect.patience=1s"});
  for (const pid_t pid : run.process.alive()) {
    if (pid != run.process.pid()) {
      ::kill(pid, SIGSTOP);
      break;
    }
  }
  run.process.signal(SIGTERM);
  EXPECT_EQ(run.process.wait().code, 143);
  EXPECT_EQ(run.report()["event_counts"]["state_kept"], 1);
  EXPECT_TRUE(run.process.none_left_within(2s));
}

TEST(Signals, TheGraceIsTheLongestThatTheEndTakes) {
  const Folder kept;
  LongRun run({"--set", "checkpoint.folder=" + kept.path("state"), "--set", "checkpoint.grace=300ms"});
  for (const pid_t pid : run.process.alive()) {
    if (pid != run.process.pid()) ::kill(pid, SIGSTOP);
  }
  const auto began = std::chrono::steady_clock::now();
  run.process.signal(SIGTERM);
  EXPECT_EQ(run.process.wait().code, 143);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 3s);
  EXPECT_EQ(run.report()["event_counts"]["state_not_kept"], 1);
}

// Its replicas' files may not grow, as on a disk that is full; nor those in the spare folder.
TEST(Signals, WhyTheDiskDidNotTakeTheStateIsTold) {
  const Folder kept;
  LongRun run({"--set", "checkpoint.folder=" + kept.path("state"), "--set",
               "checkpoint.spare_folder=" + kept.path("spare"), "--set", "checkpoint.grace=1s"});
  const rlimit none{10, RLIM_INFINITY};
  for (const pid_t pid : run.process.alive()) {
    if (pid != run.process.pid()) {
      ASSERT_EQ(::prlimit(pid, RLIMIT_FSIZE, &none, nullptr), 0);
    }
  }
  run.process.signal(SIGTERM);
  const Json not_kept = run.process.event("state_not_kept");
  EXPECT_EQ(run.process.wait().code, 143);
  ASSERT_TRUE(not_kept.is_object());
  const auto reason = not_kept["reason"].get<std::string>();
  EXPECT_NE(reason.find("File too large"), std::string::npos) << reason;
  EXPECT_NE(reason.find("ulimit -f"), std::string::npos) << reason;
}

TEST(Signals, SecondOneEndsEverythingAtOnce) {
  const Folder kept;
  LongRun run({"--set", "checkpoint.folder=" + kept.path("state"), "--set", "checkpoint.grace=60s"});
  for (const pid_t pid : run.process.alive()) {
    if (pid != run.process.pid()) ::kill(pid, SIGSTOP);
  }
  run.process.signal(SIGTERM);
  ASSERT_TRUE(run.process.event("interrupted").is_object());
  ASSERT_TRUE(run.process.quiet_for(500ms)) << "it waits for replicas that could keep the state";
  run.process.signal(SIGTERM);
  const auto began = std::chrono::steady_clock::now();
  const Outcome outcome = run.process.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - began, 1s);
  EXPECT_EQ(outcome.code, 143);
  EXPECT_TRUE(run.process.none_left_within(1s));
}

TEST(Signals, OneThatArrivesTwiceAtOnceCountsOnce) {
  for (const int signal : {SIGINT, SIGTERM}) {  // by `timeout --foreground`, a launcher in the process group
    const Folder kept;
    LongRun run({"--set", "checkpoint.folder=" + kept.path("state")});
    run.process.signal(signal);
    run.process.signal(signal);
    EXPECT_EQ(run.process.wait().code, 128 + signal);
    EXPECT_EQ(run.report()["event_counts"].value("state_kept", 0), 1);
  }
}

TEST(Signals, AShellAndTheKernelBothSendHangup) {
  const Folder kept;
  LongRun run({"--set", "checkpoint.folder=" + kept.path("state")});
  run.process.signal(SIGHUP);
  run.process.signal(SIGHUP);
  EXPECT_EQ(run.process.wait().code, 129);
  EXPECT_EQ(run.report()["event_counts"].value("state_kept", 0), 1);
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
}  // namespace muster::signals_test
