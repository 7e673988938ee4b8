// A replica that stands still for a while: who is told, who goes, and that the weights stay the same. Real
// processes, stopped and continued when an event says so.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/cluster/muster_process.hpp"

namespace muster::straggler_test {
namespace {

using namespace muster::cluster_test;
using namespace std::chrono_literals;

class StragglerRun {
 public:
  explicit StragglerRun(const Arguments& more = {}) : process_(arguments(folder_, more)) {
    for (int slot = 0; slot < 3; ++slot) {
      const Json joined = process_.event("joined");
      EXPECT_TRUE(joined.is_object());
      if (joined.is_object()) pids_[joined["replica"].get<int>()] = joined["pid"].get<pid_t>();
    }
    EXPECT_TRUE(process_.event("epoch", [](const Json& event) { return event["epoch"] >= 5; }).is_object());
  }

  void send(int replica, int signal) { EXPECT_EQ(::kill(pids_[replica], signal), 0); }
  void send_all(int signal) {
    for (const auto& [replica, pid] : pids_) send(replica, signal);
    EXPECT_EQ(::kill(process_.pid(), signal), 0);
  }
  bool quiet_for(std::chrono::milliseconds time) { return process_.quiet_for(time); }
  Json event(const std::string& name) {
    const Json event = process_.event(name);
    EXPECT_TRUE(event.is_object()) << name;
    return event;
  }
  /// To the end; the report.
  Json finish() {
    const Outcome outcome = process_.wait();
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(process_.none_left_within(2s));
    return read_json(folder_.path("report.json"));
  }

 private:
  static Arguments arguments(const Folder& folder, const Arguments& more) {
    std::string job = linear_job();
    job.replace(job.find("epochs = 2"), 10, "epochs = 300\nevaluate = false");
    Arguments all{"run",        folder.write("job.toml", job),
                  "--replicas", "3",
                  "--events",   "-",
                  "--report",   folder.path("report.json"),
                  "--set",      "cluster.on_loss=continue"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  Folder folder_;
  MusterProcess process_;
  std::map<int, pid_t> pids_;
};

const Json& undisturbed() {
  static const Json report = StragglerRun().finish();
  return report;
}

void expect_the_same(const Json& report, int lost) {
  ASSERT_TRUE(report.is_object());
  EXPECT_EQ(report["weights_sha256"], undisturbed()["weights_sha256"]);
  EXPECT_EQ(report["ledger"], undisturbed()["ledger"]);
  EXPECT_EQ(report["event_counts"].value("lost", 0), lost);
}

TEST(Stragglers, OneThatStandsStillIsLateAndStays) {
  StragglerRun run({"--set", "cluster.straggler.patience=300ms", "--set", "cluster.detect.patience=30s"});
  run.send(1, SIGSTOP);
  const Json late = run.event("late");
  run.send(1, SIGCONT);
  if (late.is_object()) {
    EXPECT_EQ(late["replica"], 1);
    EXPECT_GE(late["waited_ms"].get<double>(), 300);
    EXPECT_NE(late["seen_by"], "replica 1");
    EXPECT_FALSE(late["stuck"].get<bool>());
  }
  const Json report = run.finish();
  expect_the_same(report, 0);
  if (!report.is_object()) return;
  EXPECT_TRUE(report["phases"][0].contains("waited_most_for"));
}

TEST(Stragglers, SilenceIsSuspectedBeforeItIsLost) {
  StragglerRun run({"--set", "cluster.detect.patience=30s"});
  run.send(2, SIGSTOP);
  const Json suspected = run.event("suspected");
  run.send(2, SIGCONT);
  if (suspected.is_object()) {
    EXPECT_EQ(suspected["replica"], 2);
    EXPECT_GE(suspected["phi"].get<double>(), 8);
  }
  EXPECT_EQ(run.event("trusted").value("replica", -1), 2);
  expect_the_same(run.finish(), 0);
}

TEST(Stragglers, EvictTakesTheOneThatHoldsUpTheOthers) {
  StragglerRun run({"--set", "cluster.straggler.patience=300ms", "--set", "cluster.detect.patience=30s",
                    "--set", "cluster.straggler.action=evict"});
  run.send(0, SIGSTOP);
  const Json lost = run.event("lost");
  if (lost.is_object()) {
    EXPECT_EQ(lost["replica"], 0);
    EXPECT_NE(lost["reason"].get<std::string>().find("holds up step"), std::string::npos) << lost;
  }
  expect_the_same(run.finish(), 1);
}

// It holds its device, and does not hear that it is to end. Without another one the run waits.
TEST(Stragglers, OneThatStandsStillForGoodIsReplaced) {
  StragglerRun run({"--set", "cluster.restart=on-loss", "--set", "cluster.min_replicas=3"});
  run.send(1, SIGSTOP);
  EXPECT_EQ(run.event("lost").value("replica", -1), 1);
  EXPECT_EQ(run.event("joined").value("replica", -1), 3);
  expect_the_same(run.finish(), 1);
}

// A laptop that sleeps, or Ctrl-Z.
TEST(Stragglers, NobodyIsBlamedForATimeInWhichTheWholeJobStoodStill) {
  StragglerRun run({"--set", "cluster.straggler.patience=2s", "--set", "cluster.straggler.stuck_after=2s",
                    "--set", "cluster.straggler.action=evict"});
  run.send_all(SIGSTOP);
  EXPECT_TRUE(run.quiet_for(5s)) << "all stand still";
  run.send_all(SIGCONT);
  expect_the_same(run.finish(), 0);
}

TEST(Stragglers, OneThatDoesNothingIsStuckWhateverTheAction) {
  StragglerRun run({"--set", "cluster.straggler.patience=300ms", "--set", "cluster.straggler.stuck_after=2s",
                    "--set", "cluster.detect.patience=30s"});
  run.send(1, SIGSTOP);
  const Json lost = run.event("lost");
  if (lost.is_object()) {
    EXPECT_EQ(lost["replica"], 1);
    EXPECT_NE(lost["reason"].get<std::string>().find("stuck_after"), std::string::npos) << lost;
  }
  expect_the_same(run.finish(), 1);
}

}  // namespace
}  // namespace muster::straggler_test
