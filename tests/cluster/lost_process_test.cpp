// A replica or a loader that dies in the middle of a run, with cluster.on_loss = "fail".
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/cluster/muster_process.hpp"

namespace muster::lost_process_test {
namespace {

using namespace muster::cluster_test;
using namespace std::chrono_literals;

std::string endless_job() {
  std::string text = linear_job();
  return text.replace(text.find("epochs = 2"), 10, "epochs = 1000000000\nevaluate = false");
}

struct Loss {
  Json event;
  Outcome outcome;
  Json report;
};

/// Kills one process of a run under way, with the signal; the run must fail within a second.
Loss kill_one(const std::string& kind, int number, const Arguments& more,
              const Environment& environment = {}) {
  const Folder folder;
  Arguments arguments{"run",      folder.write("job.toml", endless_job()),
                      "--events", "-",
                      "--report", folder.path("report.json"),
                      "--set",    "cluster.on_loss=fail"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  MusterProcess process(arguments, environment);
  Loss loss;
  const Json joined = process.event(
      "joined", [&](const Json& event) { return event.contains(kind) && event[kind] == number; });
  EXPECT_TRUE(joined.is_object());
  EXPECT_TRUE(process.event("epoch", [](const Json& event) { return event["epoch"] >= 3; }).is_object());
  if (!joined.is_object()) return loss;
  const auto killed = std::chrono::steady_clock::now();
  EXPECT_EQ(::kill(joined["pid"].get<pid_t>(), SIGKILL), 0);
  loss.event = process.event("lost");
  loss.outcome = process.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - killed, 1s);
  EXPECT_EQ(loss.outcome.code, 1) << loss.outcome.err;
  EXPECT_TRUE(process.alive().empty()) << "processes were left over";
  loss.report = read_json(folder.path("report.json"));
  return loss;
}

void expect_told(const Loss& loss, const std::string& who, const std::string& shards) {
  ASSERT_TRUE(loss.event.is_object()) << "no `lost` event";
  EXPECT_EQ(loss.event["shards"], shards);
  EXPECT_GT(loss.event["step"], 16 * 3);
  EXPECT_EQ(loss.event["noticed_by"], "launcher") << "its connection, whose end says less, is closed first";
  EXPECT_NE(loss.event["reason"].get<std::string>().find("was ended by signal 9 (Killed)"), std::string::npos)
      << loss.event["reason"];
  EXPECT_EQ(loss.report["outcome"], "failed");
  EXPECT_NE(loss.report["reason"].get<std::string>().find(who), std::string::npos) << loss.report["reason"];
  EXPECT_EQ(loss.report["event_counts"]["lost"], 1);
  EXPECT_EQ(loss.report["event_counts"]["failed"], 1);
  EXPECT_NE(loss.outcome.err.find(who), std::string::npos) << loss.outcome.err;
  EXPECT_NE(loss.outcome.err.find("failed"), std::string::npos) << loss.outcome.err;
}

TEST(LostProcess, FirstReplica) {
  const Loss loss = kill_one("replica", 0, {"--replicas", "3"});
  EXPECT_EQ(loss.event["replica"], 0);
  expect_told(loss, "replica 0", "0-1");
}

TEST(LostProcess, LastReplica) {
  const Loss loss = kill_one("replica", 2, {"--replicas", "3"});
  EXPECT_EQ(loss.event["replica"], 2);
  expect_told(loss, "replica 2", "4-4");
}

TEST(LostProcess, ReplicaOverTcp) {
  const Loss loss = kill_one("replica", 1, {"--replicas", "2"}, {{"UCX_TLS", "tcp"}});
  EXPECT_EQ(loss.event["replica"], 1);
  expect_told(loss, "replica 1", "3-4");
}

TEST(LostProcess, TheOnlyReplica) {
  const Loss loss = kill_one("replica", 0, {"--replicas", "1"});
  expect_told(loss, "replica 0", "0-4");
}

TEST(LostProcess, Loader) {
  const Loss loss = kill_one("loader", 0, {"--replicas", "2", "--set", "cluster.loaders=1"});
  EXPECT_EQ(loss.event["loader"], 0);
  expect_told(loss, "loader 0", "-");
}

TEST(LostProcess, FrozenReplicaIsLostAfterThePatience) {
  const Folder folder;
  MusterProcess process({"run", folder.write("job.toml", endless_job()), "--events", "-", "--quiet", "--set",
                         "cluster.detect.patience=600ms", "--set", "cluster.on_loss=fail", "--report",
                         folder.path("report.json")});
  const Json joined = process.event("joined", [](const Json& event) { return event["replica"] == 1; });
  ASSERT_TRUE(joined.is_object());
  ASSERT_TRUE(process.event("epoch").is_object());
  ASSERT_EQ(::kill(joined["pid"].get<pid_t>(), SIGSTOP), 0);
  const Json lost = process.event("lost");
  ASSERT_TRUE(lost.is_object());
  EXPECT_EQ(lost["replica"], 1);
  EXPECT_EQ(lost["noticed_by"], "coordinator");
  EXPECT_NE(lost["reason"].get<std::string>().find("silent"), std::string::npos) << lost;
  EXPECT_EQ(process.wait().code, 1);
  EXPECT_TRUE(process.alive().empty());
}

}  // namespace
}  // namespace muster::lost_process_test
