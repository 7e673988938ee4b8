// What a person meets who starts nodes by hand, with a slip in the address, the port or the device.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <memory>

#include "tests/cluster/muster_process.hpp"
#include "tests/cluster/refusals.hpp"

namespace muster::join_test {
namespace {

using namespace muster::cluster_test;

TEST(Join, AnAddressThatIsNoneIsRefusedAtOnce) {
  for (const char* address : {"http://host2:7100", "host2", "host2:0", "host2:70000", ":7100"}) {
    const Outcome outcome = run_muster({"join", "--coordinator", address});
    EXPECT_EQ(outcome.code, 2) << address;
    expect_parts(outcome.err, {"--coordinator is HOST:PORT", address});
  }
}

TEST(Join, ANameThatNobodyKnowsIsNotLookedForAgain) {
  const Outcome outcome = run_muster({"join", "--coordinator", "not a host:7100"});
  EXPECT_EQ(outcome.code, 1);
  expect_parts(outcome.err,
               {"no coordinator at not a host:7100: this host name is not known", "getent hosts"});
  EXPECT_LT(outcome.seconds.count(), 20) << "of the 60 s that it would look for a host that may yet come";
}

TEST(Join, SaysWhatItLooksForAndForHowLong) {
  const std::string address = free_address();
  const Outcome outcome = run_muster({"join", "--coordinator", address, "--patience", "1"});
  EXPECT_EQ(outcome.code, 1);
  expect_parts(outcome.err,
               {"looks for the coordinator at " + address + " for up to 1 s: nothing listens there yet",
                "no coordinator at " + address + " within 1 s", "start `muster coordinate` there"});
  EXPECT_EQ(outcome.err.find("system_error"), std::string::npos) << outcome.err;
}

TEST(Join, OptionsOutOfRangeAndUnknownOnesAreNamed) {
  const std::string address = free_address();
  Outcome outcome = run_muster({"join", "--coordinator", address, "--patience=-1"});
  EXPECT_EQ(outcome.code, 2);
  expect_parts(outcome.err, {"--patience is 1 to ", "seconds; found -1"});
  outcome = run_muster({"join", "--coordinator", address, "--patiense", "3"});
  EXPECT_EQ(outcome.code, 2);
  expect_parts(outcome.err, {"unknown option '--patiense'; did you mean --patience?"});
}

TEST(Join, ADeviceThatIsNotThereIsRefusedAtOnce) {
  const Outcome outcome = run_muster({"join", "--coordinator", free_address(), "--device", "cpu:4096"});
  EXPECT_EQ(outcome.code, 2);
  expect_parts(outcome.err,
               {"--device: a device that is not there; found \"cpu:4096\"", "this node has cpu:0"});
}

/// What is started meanwhile begins in this folder.
class Within {
 public:
  explicit Within(const std::string& folder) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder);
  }
  ~Within() { std::filesystem::current_path(before_); }

 private:
  std::filesystem::path before_;
};

// A relative path means another folder to each process.
TEST(Join, ACheckpointFolderThatIsNotTheCoordinatorsIsNamed) {
  const Folder folder, elsewhere;
  const std::string address = free_address();
  std::unique_ptr<MusterProcess> coordinator, same;
  {
    const Within within(folder.path("."));
    coordinator = std::make_unique<MusterProcess>(
        Arguments{"coordinate", folder.write("job.toml", linear_job()), "--listen", address, "--events", "-",
                  "--set", "checkpoint.folder=kept"});
    ASSERT_TRUE(coordinator->event("listening").is_object());
    same = std::make_unique<MusterProcess>(Arguments{"join", "--coordinator", address});
  }
  const Within within(elsewhere.path("."));
  MusterProcess other({"join", "--coordinator", address});
  const Json notice = coordinator->event("notice", [](const Json& event) {
    return event["text"].get<std::string>().find("checkpoint.folder is ") != std::string::npos;
  });
  ASSERT_TRUE(notice.is_object());
  expect_parts(notice["text"], {std::filesystem::path(elsewhere.path("kept")).lexically_normal().string(),
                                "give the absolute path of a folder that all hosts share"});
  const Outcome outcome = coordinator->wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find(folder.path("kept")), std::string::npos)
      << "it sees that folder: " << outcome.out;
}

/// One without an end, and two that joined it, seen in the middle of training.
struct JoinedRun {
  explicit JoinedRun(const Arguments& more = {}) {
    std::string text = linear_job();
    text.replace(text.find("epochs = 2"), 10, "epochs = 1000000000\nevaluate = false");
    Arguments all{"coordinate", folder.write("job.toml", text), "--listen", address,      "--events", "-",
                  "--report",   folder.path("r.json"),          "--quiet",  "--replicas", "2"};
    all.insert(all.end(), more.begin(), more.end());
    coordinator = std::make_unique<MusterProcess>(all);
    EXPECT_TRUE(coordinator->event("listening").is_object());
    for (auto& node : nodes)
      node = std::make_unique<MusterProcess>(Arguments{"join", "--coordinator", address});
    EXPECT_TRUE(
        coordinator->event("epoch", [](const Json& event) { return event["epoch"] >= 3; }).is_object());
  }

  Folder folder;
  const std::string address = free_address();
  std::unique_ptr<MusterProcess> coordinator, nodes[2];
};

// As `pkill -INT` does, or a scheduler.
TEST(Join, InterruptToAllKeepsTheState) {
  const Folder kept;
  JoinedRun run({"--set", "checkpoint.folder=" + kept.path("state")});
  for (auto& node : run.nodes) node->signal(SIGINT);
  for (auto& node : run.nodes) {
    const Outcome outcome = node->wait();
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }
  EXPECT_EQ(run.coordinator->wait().code, 1);
  const Json report = read_json(run.folder.path("r.json"));
  EXPECT_EQ(report["reason"], "every replica was asked to leave");
  EXPECT_EQ(report["event_counts"].value("state_kept", 0), 1);
}

TEST(Join, InterruptToAllWithoutAFolderSaysThatNothingIsKept) {
  JoinedRun run;
  for (auto& node : run.nodes) node->signal(SIGINT);
  for (auto& node : run.nodes) EXPECT_EQ(node->wait().code, 0);
  const Outcome outcome = run.coordinator->wait();
  EXPECT_EQ(outcome.code, 1);
  const Json report = read_json(run.folder.path("r.json"));
  EXPECT_EQ(report["outcome"], "interrupted");
  EXPECT_EQ(report["reason"],
            "every replica was asked to leave, and nothing is kept: checkpoint.folder is not set");
  EXPECT_EQ(outcome.err.find("newcomers"), std::string::npos) << outcome.err;
}

TEST(Join, ASecondInterruptEndsItAtOnce) {
  JoinedRun run;
  run.coordinator->signal(SIGSTOP);  // nobody takes its shards
  MusterProcess& node = *run.nodes[0];
  node.signal(SIGINT);
  while (node.err().find("a second signal ends it at once") == std::string::npos &&
         node.quiet_for(std::chrono::milliseconds(10))) {
  }
  ASSERT_TRUE(node.quiet_for(std::chrono::milliseconds(600)));  // sooner it would be an echo
  node.signal(SIGINT);
  EXPECT_EQ(node.wait().code, 130);
}

TEST(Join, ATakenPortIsCalledTaken) {
  const Folder folder;
  const std::string job = folder.write("job.toml", linear_job());
  const std::string address = free_address();
  MusterProcess first({"coordinate", job, "--listen", address, "--events", "-"});
  ASSERT_EQ(first.event("started")["event"], "started");
  const Outcome second = run_muster({"coordinate", job, "--listen", address});
  EXPECT_EQ(second.code, 2);
  expect_parts(second.err,
               {"another process listens on port " + address.substr(address.find(':') + 1), address});
  EXPECT_EQ(second.err.find("muster join"), std::string::npos) << "where nobody can join: " << second.err;
  first.signal(15);
  first.wait();
}

// Its exit code and texts, of one for whose replicas nobody starts anything.
TEST(Join, ACoordinatorSaysForHowManyItWaitsAndFailsIfNobodyComes) {
  const Folder folder;
  const Outcome outcome = run_muster({"coordinate", folder.write("job.toml", linear_job()), "--listen",
                                      free_address(), "--set", "cluster.start_patience=300ms"});
  EXPECT_EQ(outcome.code, 1);
  expect_parts(
      outcome.err,
      {"waits for 2 replicas; fails if none comes for 3 s (10 times cluster.start_patience)",
       "muster: failed: no node came for 3000 ms (10 times cluster.start_patience). Missing: 2 replicas; "
       "here: nobody. Start `muster join`"});
}

TEST(Join, ACoordinatorThatHasOneOfTwoFailsAndNamesItsNode) {
  const Folder folder;
  const std::string address = free_address();
  MusterProcess coordinator({"coordinate", folder.write("job.toml", linear_job()), "--listen", address,
                             "--set", "cluster.start_patience=1s"});
  const Outcome joined = run_muster({"join", "--coordinator", address});
  const Outcome outcome = coordinator.wait();
  EXPECT_EQ(outcome.code, 1);
  expect_parts(outcome.err, {"no node came for 10000 ms", "Missing: 1 replica; here: replica 0 on ",
                             "fewer replicas: --replicas 1"});
  EXPECT_EQ(joined.code, 1);
  expect_parts(joined.err, {"Missing: 1 replica"});
}

}  // namespace
}  // namespace muster::join_test
