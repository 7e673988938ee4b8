// With cluster.on_loss = "continue" a run survives the loss of replicas: real processes, killed or stopped in
// the middle. It ends with the weights of an undisturbed run, and an exact ledger.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/cluster/muster_process.hpp"

namespace {

using namespace muster::cluster_test;
using namespace std::chrono_literals;

std::string long_job() {
  std::string text = linear_job();
  return text.replace(text.find("epochs = 2"), 10, "epochs = 150\nevaluate = false");
}

/// What is done to a replica once the epoch has ended.
struct Blow {
  int replica;
  int after_epoch;
  int signal;
};

struct Disturbed {
  Outcome outcome;
  Json report;
  int views = 0;
};

Disturbed run_with(const std::vector<Blow>& blows, const Environment& environment = {}) {
  const Folder folder;
  Arguments arguments{"run",        folder.write("job.toml", long_job()),
                      "--replicas", "4",
                      "--events",   "-",
                      "--report",   folder.path("report.json"),
                      "--set",      "cluster.on_loss=continue",
                      "--set",      "cluster.detect.patience=4s"};
  MusterProcess process(arguments, environment);
  std::map<int, pid_t> pids;
  for (int slot = 0; slot < 4; ++slot) {
    const Json joined = process.event("joined");
    EXPECT_TRUE(joined.is_object());
    if (!joined.is_object()) return {};
    pids[joined["replica"].get<int>()] = joined["pid"].get<pid_t>();
  }
  for (const Blow& blow : blows) {
    EXPECT_TRUE(process.event("epoch", [&](const Json& event) { return event["epoch"] >= blow.after_epoch; })
                    .is_object());
    EXPECT_EQ(::kill(pids[blow.replica], blow.signal), 0);
  }
  Disturbed run;
  run.outcome = process.wait();
  EXPECT_TRUE(process.none_left_within(2s));
  run.report = read_json(folder.path("report.json"));
  if (run.report.is_object()) run.views = run.report["event_counts"]["view"].get<int>();
  return run;
}

void expect_the_same(const Disturbed& run, const Disturbed& undisturbed, int lost) {
  ASSERT_EQ(run.outcome.code, 0) << run.outcome.err;
  EXPECT_EQ(run.report["weights_sha256"], undisturbed.report["weights_sha256"]);
  EXPECT_EQ(run.report["steps"], undisturbed.report["steps"]);
  EXPECT_EQ(run.report["ledger"], undisturbed.report["ledger"]);
  EXPECT_EQ(run.report["event_counts"]["lost"], lost);
  for (const Json& row : run.report["ledger"]) {
    ASSERT_TRUE(row["complete"].get<bool>());
    ASSERT_EQ(row["repeated"].get<int>() + row["missed"].get<int>(), 0);
  }
}

const Disturbed& undisturbed() {
  static const Disturbed run = run_with({});
  return run;
}

TEST(ViewChange, OneKilled) {
  const Disturbed run = run_with({{1, 5, SIGKILL}});
  expect_the_same(run, undisturbed(), 1);
  EXPECT_EQ(run.views, 2);
}

TEST(ViewChange, TheFirstKilledOverTcp) {
  const Disturbed run = run_with({{0, 5, SIGKILL}}, {{"UCX_TLS", "tcp"}});
  expect_the_same(run, undisturbed(), 1);
}

TEST(ViewChange, OneKilledOverUcx) {
  const Disturbed run = run_with({{1, 5, SIGKILL}}, {{"UCX_TLS", "tcp,self"}, {"UCX_NET_DEVICES", "lo"}});
  expect_the_same(run, undisturbed(), 1);
}

TEST(ViewChange, AllButOneKilledOneAfterTheOther) {
  const Disturbed run = run_with({{0, 4, SIGKILL}, {3, 10, SIGKILL}, {1, 16, SIGKILL}});
  expect_the_same(run, undisturbed(), 3);
}

TEST(ViewChange, TwoKilledAtOnce) {
  const Disturbed run = run_with({{2, 5, SIGKILL}, {1, 5, SIGKILL}});
  expect_the_same(run, undisturbed(), 2);
}

TEST(ViewChange, OneStoppedForLongerThanThePatienceIsEvicted) {
  const Disturbed run = run_with({{2, 5, SIGSTOP}});
  expect_the_same(run, undisturbed(), 1);
}

}  // namespace
