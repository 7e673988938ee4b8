// Real processes that come and go: `muster coordinate` and `muster join`, SIGTERM to a replica, a launcher
// that starts lost processes anew, a coordinator that is killed and started again. Each run ends with the
// weights of an undisturbed one, and an exact ledger.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>

#include "tests/cluster/paced_job.hpp"

namespace muster::membership_test {
namespace {

using namespace muster::cluster_test;
using namespace std::chrono_literals;

constexpr int kEpochs = 1000;  // tens of seconds until the gate is open

std::string long_job() {
  return paced_job({.epochs = kEpochs});
}

/// `muster run` of the job in this folder; it ends once the gate there is open.
MusterProcess launched(const Folder& folder, int replicas, const Arguments& more = {}) {
  Arguments arguments{"run",        folder.write("job.toml", long_job()),
                      "--replicas", std::to_string(replicas),
                      "--events",   "-",
                      "--report",   folder.path("r.json"),
                      "--set",      "checkpoint.every=1000000 steps"};
  for (const Arguments& some : {paced_sets(folder), more})
    arguments.insert(arguments.end(), some.begin(), some.end());
  return MusterProcess(arguments, {}, "muster_paced");
}

const Json& undisturbed() {
  static const Json report = [] {
    const Folder folder;
    folder.write("gate", "");
    MusterProcess process = launched(folder, 1);
    EXPECT_EQ(process.wait().code, 0);
    return read_json(folder.path("r.json"));
  }();
  return report;
}

void expect_undisturbed(const Json& report) {
  ASSERT_EQ(report["outcome"], "completed") << report["reason"];
  EXPECT_EQ(report["weights_sha256"], undisturbed()["weights_sha256"]);
  EXPECT_EQ(report["steps"], undisturbed()["steps"]);
  EXPECT_EQ(report["samples"], undisturbed()["samples"]);
  ASSERT_EQ(report["ledger"].size(), std::size_t{kEpochs});
  for (const Json& row : report["ledger"]) {
    ASSERT_TRUE(row["complete"].get<bool>());
    ASSERT_EQ(row["used"], 60);
    ASSERT_EQ(row["repeated"].get<int>() + row["missed"].get<int>(), 0);
  }
}

// Goes on from what lies in the folder, and comes to the end of an undisturbed run.
void expect_resumed_to_the_end(const Folder& folder) {
  folder.write("gate", "");
  MusterProcess process = launched(folder, 3, {"--resume"});
  const Json resumed = process.event("resumed");
  ASSERT_TRUE(resumed.is_object());
  EXPECT_GT(resumed["step"].get<int>(), 0);
  const Outcome outcome = process.wait();
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  expect_undisturbed(read_json(folder.path("r.json")));
}

// A coordinator and replicas that were started by hand.
struct ByHand {
  explicit ByHand(int replicas, std::string checkpoint_every = "1000 steps", std::string orphan_for = "1min")
      : first(replicas), every(std::move(checkpoint_every)), orphan_after(std::move(orphan_for)) {
    job = folder.write("job.toml", long_job());
    where = free_address();
    start_coordinator();
    for (int i = 0; i < replicas; ++i) join();
  }
  void start_coordinator(const Arguments& more = {}) {
    Arguments arguments{"coordinate", job,
                        "--listen",   where,
                        "--events",   "-",
                        "--report",   folder.path("r.json"),
                        "--set",      "checkpoint.every=" + every,
                        "--set",      "report.progress_every=10 steps",
                        "--set",      "cluster.detect.patience=4s",
                        "--set",      "cluster.orphan_after=" + orphan_after,
                        "--replicas", std::to_string(first)};
    for (const Arguments& some : {paced_sets(folder), more})
      arguments.insert(arguments.end(), some.begin(), some.end());
    coordinator = std::make_unique<MusterProcess>(arguments, Environment(), "muster_paced");
  }
  MusterProcess& join() {
    joined.push_back(std::make_unique<MusterProcess>(Arguments{"join", "--coordinator", where}, Environment(),
                                                     "muster_paced"));
    return *joined.back();
  }
  bool epoch(int at_least) {
    return coordinator->event("epoch", [&](const Json& e) { return e["epoch"] >= at_least; }).is_object();
  }
  void open_gate() const { folder.write("gate", ""); }
  Json end() {
    open_gate();
    EXPECT_EQ(coordinator->wait().code, 0);
    return report();
  }
  Json report() const { return read_json(folder.path("r.json")); }

  Folder folder;
  int first;  // training begins with so many
  std::string job, where, every, orphan_after;
  std::unique_ptr<MusterProcess> coordinator;
  std::vector<std::unique_ptr<MusterProcess>> joined;
};

TEST(Membership, OneJoinsWhileOthersTrain) {
  ByHand run(2);
  ASSERT_TRUE(run.epoch(3));
  run.join();
  const Json joined =
      run.coordinator->event("joined", [](const Json& event) { return event["replica"] == 2; });
  ASSERT_TRUE(joined.is_object());
  const Json view = run.coordinator->event("view", [](const Json& event) { return event["view"] >= 2; });
  EXPECT_EQ(view["members"], 3);
  const Json report = run.end();
  expect_undisturbed(report);
  EXPECT_EQ(report["event_counts"]["state_transferred"], 1);
  ASSERT_EQ(report["phases"].size(), 3u) << report["phases"];
  for (const Json& phases : report["phases"]) {
    for (const auto& [name, value] : phases.items()) {
      if (name.ends_with("_s")) {
        EXPECT_LE(value.get<double>(), report["wall_seconds"].get<double>()) << phases;
      }
    }
  }
  for (const auto& process : run.joined) EXPECT_EQ(process->wait().code, 0);
}

TEST(Membership, SigtermHandsShardsOver) {
  ByHand run(2);
  ASSERT_TRUE(run.epoch(3));
  run.joined[0]->signal(SIGTERM);
  ASSERT_TRUE(run.coordinator->event("left").is_object());
  EXPECT_EQ(run.joined[0]->wait().code, 0);
  const Json report = run.end();
  expect_undisturbed(report);
  EXPECT_FALSE(report["event_counts"].contains("lost"));
}

// No file of the coordinator may grow, as on a disk that is full, while a replica dies; then there is room
// again.
TEST(Membership, AViewWaitsForAJournalWhoseDiskIsFull) {
  ByHand run(3);
  ASSERT_TRUE(run.epoch(3));
  const rlimit none{10, RLIM_INFINITY}, any{RLIM_INFINITY, RLIM_INFINITY};
  ASSERT_EQ(::prlimit(run.coordinator->pid(), RLIMIT_FSIZE, &none, nullptr), 0);
  run.joined[0]->signal(SIGKILL);
  const Json delayed = run.coordinator->event("journal_delayed");
  ASSERT_EQ(::prlimit(run.coordinator->pid(), RLIMIT_FSIZE, &any, nullptr), 0);
  ASSERT_TRUE(delayed.is_object());
  EXPECT_NE(delayed["reason"].get<std::string>().find("bytes are needed"), std::string::npos) << delayed;
  ASSERT_TRUE(run.coordinator->event("recovered").is_object());
  expect_undisturbed(run.end());
}

// As when a provider takes back all machines at once.
TEST(Membership, SigtermToAllKeepsTheStateAndTheRunGoesOn) {
  ByHand run(2);
  ASSERT_TRUE(run.epoch(3));
  for (const auto& process : run.joined) process->signal(SIGTERM);
  const Outcome outcome = run.coordinator->wait();
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("muster_paced coordinate"), std::string::npos) << outcome.err;
  const Json report = read_json(run.folder.path("r.json"));
  EXPECT_EQ(report["outcome"], "interrupted");
  EXPECT_EQ(report["event_counts"]["state_kept"], 1);
  for (const auto& process : run.joined) EXPECT_EQ(process->wait().code, 0);
  expect_resumed_to_the_end(run.folder);
}

TEST(Membership, SigtermToTheCoordinatorKeepsTheStateAndTheRunGoesOn) {
  ByHand run(2);
  ASSERT_TRUE(run.epoch(3));
  run.coordinator->signal(SIGTERM);
  const Outcome outcome = run.coordinator->wait();
  EXPECT_EQ(outcome.code, 143) << outcome.err;
  EXPECT_NE(outcome.err.find("muster_paced coordinate"), std::string::npos) << outcome.err;
  EXPECT_EQ(run.report()["outcome"], "interrupted");
  EXPECT_EQ(run.report()["event_counts"].value("state_kept", 0), 1);
  for (const auto& process : run.joined) {
    const Outcome told = process->wait();
    EXPECT_EQ(told.code, 0);  // it has done what it was told
    EXPECT_NE(told.err.find("SIGTERM"), std::string::npos) << told.err;
  }
  expect_resumed_to_the_end(run.folder);
}

TEST(Membership, AllAreReplacedOneAfterTheOther) {
  ByHand run(2);
  ASSERT_TRUE(run.epoch(3));
  run.join();
  ASSERT_TRUE(run.coordinator->event("view", [](const Json& e) { return e["members"] == 3; }).is_object());
  run.joined[0]->signal(SIGKILL);
  ASSERT_TRUE(run.coordinator->event("lost").is_object());
  ASSERT_TRUE(run.coordinator->event("recovered").is_object());
  run.join();
  ASSERT_TRUE(run.coordinator->event("view", [](const Json& e) { return e["members"] == 3; }).is_object());
  run.joined[1]->signal(SIGTERM);
  ASSERT_TRUE(run.coordinator->event("left").is_object());
  expect_undisturbed(run.end());
}

// What all events of this name in the output of a coordinator say under this key.
std::vector<int> told(const Outcome& coordinator, const std::string& name, const std::string& key) {
  std::vector<int> values;
  std::istringstream lines(coordinator.out);
  for (std::string line; std::getline(lines, line);) {
    const Json event = Json::parse(line, nullptr, false);  // the last line of one that was killed may be cut
    if (event.is_object() && event["event"] == name) values.push_back(event[key].get<int>());
  }
  return values;
}

// Members tell a coordinator that was started anew of every epoch: it knows nothing of what the one before
// was told. One that has just ended may come before the others.
void expect_each_epoch_once(const Outcome& killed, const Outcome& anew) {
  std::vector<int> before = told(killed, "epoch", "epoch"), after = told(anew, "epoch", "epoch");
  std::vector<int> all(kEpochs);
  std::iota(all.begin(), all.end(), 1);
  std::sort(after.begin(), after.end());
  EXPECT_EQ(after, all);
  all.resize(before.size());
  EXPECT_EQ(before, all);
}

// A run that throws steps away writes their checkpoints again.
void expect_no_step_is_done_again(const Outcome& killed, const Outcome& anew) {
  std::vector<int> checkpoints = told(killed, "checkpoint", "step");
  const std::vector<int> after = told(anew, "checkpoint", "step");
  ASSERT_FALSE(checkpoints.empty());
  ASSERT_FALSE(after.empty());
  EXPECT_GT(after.front(), checkpoints.back());
  for (const char* name : {"went_back", "resumed", "joined", "refused"})
    EXPECT_TRUE(told(anew, name, "time_ms").empty()) << name;
}

// Those of before it was started again, too.
void expect_all_progress(const Json& report, const Outcome& killed, const Outcome& anew) {
  std::vector<int> before = told(killed, "progress", "step"), after = told(anew, "progress", "step"), steps;
  ASSERT_FALSE(before.empty());
  ASSERT_FALSE(after.empty());
  for (const Json& row : report["progress"]) {
    steps.push_back(row["step"]);
    EXPECT_EQ(row["time_ms"].get<double>() < 0, steps.back() < after.front()) << row;
  }
  // It may have been killed between telling of its last one and keeping it.
  if (std::ranges::find(steps, before.back()) == steps.end()) before.pop_back();
  std::set<int> all(before.begin(), before.end());  // some may be told by both
  all.insert(after.begin(), after.end());
  EXPECT_EQ(steps, std::vector<int>(all.begin(), all.end()));
}

TEST(Membership, ACoordinatorThatIsKilledAndStartedAgainFindsItsReplicas) {
  ByHand run(2, "50 steps");
  ASSERT_TRUE(run.coordinator->event("checkpoint").is_object());
  run.coordinator->signal(SIGKILL);
  const Outcome killed = run.coordinator->wait();
  EXPECT_EQ(killed.code, 128 + SIGKILL);
  run.start_coordinator();
  const Json restarted = run.coordinator->event("restarted");
  ASSERT_TRUE(restarted.is_object());
  EXPECT_EQ(restarted["term"], 2);
  EXPECT_EQ(restarted["members"], 2);
  const Json view = run.coordinator->event("view");
  ASSERT_TRUE(view.is_object());
  EXPECT_EQ(view["view"], restarted["view"]) << "it goes on";
  run.open_gate();
  const Outcome anew = run.coordinator->wait();
  EXPECT_EQ(anew.code, 0) << anew.err;
  expect_each_epoch_once(killed, anew);
  expect_no_step_is_done_again(killed, anew);
  EXPECT_EQ(told(anew, "returned", "replica"), (std::vector{0, 1}));
  const Json report = run.report();
  expect_undisturbed(report);
  expect_all_progress(report, killed, anew);
  EXPECT_FALSE(report["event_counts"].contains("lost"));
  for (const auto& process : run.joined) {
    const Outcome outcome = process->wait();
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.err.find("joins again"), std::string::npos) << outcome.err;
  }
}

TEST(Membership, AReplicaThatDiesWhileTheCoordinatorIsGoneIsReplacedAfterItsRestart) {
  ByHand run(3, "50 steps");
  ASSERT_TRUE(run.coordinator->event("view", [](const Json& e) { return e["members"] == 3; }).is_object());
  ASSERT_TRUE(run.coordinator->event("checkpoint").is_object());
  run.coordinator->signal(SIGKILL);
  const Outcome killed = run.coordinator->wait();
  EXPECT_EQ(killed.code, 128 + SIGKILL);
  run.joined[1]->signal(SIGKILL);
  EXPECT_EQ(run.joined[1]->wait().code, 128 + SIGKILL);
  run.start_coordinator();
  ASSERT_TRUE(run.coordinator->event("restarted").is_object());
  ASSERT_TRUE(run.coordinator->event("lost").is_object());
  ASSERT_TRUE(run.coordinator->event("view").is_object());
  const Json recovered = run.coordinator->event("recovered");
  ASSERT_TRUE(recovered.is_object());
  run.open_gate();
  const Outcome anew = run.coordinator->wait();
  EXPECT_EQ(anew.code, 0) << anew.err;
  EXPECT_GT(recovered["step"], told(killed, "epoch", "steps").back()) << "the first step of the new view";
  expect_each_epoch_once(killed, anew);
  expect_no_step_is_done_again(killed, anew);
  expect_undisturbed(run.report());
}

TEST(Membership, AnotherJobIsRefusedByTheJournalOfThisOne) {
  ByHand run(2);
  ASSERT_TRUE(run.epoch(3));
  run.coordinator->signal(SIGKILL);
  EXPECT_EQ(run.coordinator->wait().code, 128 + SIGKILL);
  run.start_coordinator({"--set", "seed=8"});
  const Outcome other = run.coordinator->wait();
  EXPECT_NE(other.code, 0);
  EXPECT_NE(other.err.find("journal is of another job"), std::string::npos) << other.err;
  run.start_coordinator();
  EXPECT_TRUE(run.coordinator->event("restarted").is_object()) << "the journal is as it was";
  expect_undisturbed(run.end());
}

// A journal would tell the next one of a run that never was.
TEST(Membership, ACoordinatorThatCannotListenLeavesNothing) {
  const Folder folder;
  const std::string kept = folder.path("kept");
  const Outcome outcome = run_muster({"coordinate", folder.write("job.toml", linear_job()), "--listen",
                                      "10.1.2.3:4567", "--insecure", "--set", "checkpoint.folder=" + kept});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("no interface of this machine has the address 10.1.2.3"), std::string::npos)
      << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(kept));
}

TEST(Membership, AnAddressBeyondLoopbackIsRefusedUnlessInsecureIsSaid) {
  const Folder folder;
  const Outcome outcome =
      run_muster({"coordinate", folder.write("job.toml", linear_job()), "--listen", "10.1.2.3:4567"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("--insecure"), std::string::npos) << outcome.err;
}

TEST(Membership, TheLauncherStartsLostReplicasAnew) {
  const Folder folder;
  MusterProcess process = launched(folder, 3, {"--set", "cluster.restart=on-loss"});
  std::map<int, pid_t> pids;
  for (int i = 0; i < 3; ++i) {
    const Json joined = process.event("joined");
    ASSERT_TRUE(joined.is_object());
    pids[joined["replica"].get<int>()] = joined["pid"].get<pid_t>();
  }
  ASSERT_TRUE(process.event("epoch", [](const Json& e) { return e["epoch"] >= 3; }).is_object());
  ASSERT_EQ(::kill(pids[1], SIGKILL), 0);
  const Json anew = process.event("joined", [](const Json& event) { return event["replica"] == 3; });
  ASSERT_TRUE(anew.is_object());
  folder.write("gate", "");
  EXPECT_EQ(process.wait().code, 0);
  EXPECT_TRUE(process.none_left_within(2s));
  expect_undisturbed(read_json(folder.path("r.json")));
}

TEST(Membership, BelowMinReplicasTrainingPausesUntilOneJoins) {
  const Folder folder;
  MusterProcess process =
      launched(folder, 2, {"--set", "cluster.restart=on-loss", "--set", "cluster.min_replicas=2"});
  const Json joined = process.event("joined", [](const Json& event) { return event["replica"] == 1; });
  ASSERT_TRUE(joined.is_object());
  ASSERT_TRUE(process.event("epoch", [](const Json& e) { return e["epoch"] >= 3; }).is_object());
  ASSERT_EQ(::kill(joined["pid"].get<pid_t>(), SIGKILL), 0);
  ASSERT_TRUE(process.event("paused").is_object());
  ASSERT_TRUE(process.event("view").is_object());
  folder.write("gate", "");
  EXPECT_EQ(process.wait().code, 0);
  expect_undisturbed(read_json(folder.path("r.json")));
}

// ---- whoever gives up keeps its state

TEST(Membership, ARunThatGivesUpKeepsItsState) {
  const Folder folder;
  MusterProcess process =
      launched(folder, 2, {"--set", "cluster.min_replicas=2", "--set", "cluster.give_up_after=1s"});
  const Json joined = process.event("joined", [](const Json& event) { return event["replica"] == 1; });
  ASSERT_TRUE(joined.is_object());
  ASSERT_TRUE(process.event("epoch", [](const Json& e) { return e["epoch"] >= 3; }).is_object());
  ASSERT_EQ(::kill(joined["pid"].get<pid_t>(), SIGKILL), 0);
  ASSERT_TRUE(process.event("paused").is_object());
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("give_up_after"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("is kept; once the cause is mended go on with: "), std::string::npos)
      << outcome.err;
  EXPECT_TRUE(process.none_left_within(2s));
  expect_resumed_to_the_end(folder);
}

TEST(Membership, AReplicaWhoseCoordinatorStaysAwayEndsItselfAndKeepsItsState) {
  ByHand run(2, "1000000 steps", "1s");
  ASSERT_TRUE(run.epoch(3));
  run.joined[1]->signal(SIGSTOP);  // so that the other one cannot come to the end
  run.coordinator->signal(SIGKILL);
  EXPECT_EQ(run.coordinator->wait().code, 128 + SIGKILL);
  const Outcome orphan = run.joined[0]->wait();
  EXPECT_EQ(orphan.code, 1);
  EXPECT_NE(orphan.err.find("gone for longer than orphan_after"), std::string::npos) << orphan.err;
  EXPECT_NE(orphan.err.find("its state is in"), std::string::npos) << orphan.err;
  run.joined[1]->signal(SIGKILL);
  run.joined[1]->wait();
  // The same command, too late: nobody comes back, and it says how to go on; which is done.
  run.start_coordinator();
  const Outcome late = run.coordinator->wait();
  EXPECT_EQ(late.code, 1);
  EXPECT_NE(late.err.find("no member of the last view has come back"), std::string::npos) << late.err;
  EXPECT_NE(late.err.find("--resume"), std::string::npos) << late.err;
  run.start_coordinator({"--resume"});
  for (int i = 0; i < 2; ++i) run.join();
  EXPECT_GT(run.coordinator->event("resumed")["step"].get<int>(), 0);
  expect_undisturbed(run.end());
}

}  // namespace
}  // namespace muster::membership_test
