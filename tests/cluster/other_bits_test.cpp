// Replicas whose libraries compute with other instructions: found before they train, and said with the way
// out, also by a coordinator that was started anew.
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <cstdio>
#include <memory>
#include <thread>

#include "tests/cluster/muster_process.hpp"
#include "tests/cluster/processors.hpp"
#include "tests/cluster/same_bits.hpp"

#ifdef MUSTER_WITH_TORCH
namespace muster::other_bits_test {
namespace {

using namespace muster::cluster_test;

struct TwoByHand {
  TwoByHand(const Environment& one, const Environment& other, const Arguments& more = {}) {
    const std::string where = free_address();
    Arguments arguments{"coordinate", folder.write("job.toml", fashion_job("mlp")),
                        "--listen",   where,
                        "--report",   folder.path("report.json"),
                        "--replicas", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    MusterProcess coordinator(arguments);
    MusterProcess first({"join", "--coordinator", where}, one),
        second({"join", "--coordinator", where}, other);
    outcome = coordinator.wait();
    joined = {first.wait(), second.wait()};
    report = read_json(folder.path("report.json"));
  }

  Folder folder;
  Outcome outcome;
  std::vector<Outcome> joined;
  Json report;
};

// The one that does not fit is refused, with the way out; the run waits for one that does.
TEST(OtherBits, OfOtherInstructionsAreRefusedBeforeTrainingAndEndNothing) {
  const Folder folder;
  const std::string where = free_address();
  MusterProcess coordinator({"coordinate", folder.write("job.toml", fashion_job("mlp")), "--listen", where,
                             "--replicas", "2", "--events", "-", "--report", folder.path("report.json")});
  const Arguments join{"join", "--coordinator", where};
  MusterProcess first(join, kOld);
  ASSERT_TRUE(coordinator.event("arrived").is_object()) << coordinator.err();
  MusterProcess second(join, kNewer);
  const Json refused = coordinator.event("refused");
  ASSERT_TRUE(refused.is_object()) << coordinator.err();
  EXPECT_EQ(refused["replica"], 1);
  const std::string reason = refused["reason"].get<std::string>();
  for (const char* word : {"replica 1 on ", " computes other bits than replica 0 on ",
                           "for the probe gradient", "libtorch ", " with ", "OPENBLAS_CORETYPE=Haswell"})
    EXPECT_NE(reason.find(word), std::string::npos) << word << " is missing in: " << reason;
  const Outcome outcome = second.wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find(reason), std::string::npos) << outcome.err;
  MusterProcess third(join, kOld);
  EXPECT_EQ(coordinator.wait().code, 0) << coordinator.err();
  EXPECT_EQ(first.wait().code, 0);
  EXPECT_EQ(third.wait().code, 0);
  EXPECT_EQ(read_json(folder.path("report.json"))["outcome"], "completed");
}

TEST(OtherBits, TrainTogetherWhereTheJobIsLooseAndItIsNoticed) {
  const TwoByHand run(kOld, kNewer, {"--set", "cluster.reproducible=loose"});
  EXPECT_EQ(run.outcome.code, 0) << run.outcome.err;
  EXPECT_NE(run.outcome.err.find("computes other bits than"), std::string::npos) << run.outcome.err;
}

TEST(OtherBits, AreNoneWhereBothAreToldToChooseAlike) {
  const TwoByHand run(kNewer, kNewer);
  EXPECT_EQ(run.outcome.code, 0) << run.outcome.err;
}

// ---- a coordinator that was started anew

/// Waits until a process of this machine has a connection to the one that listens there.
bool connects_to(const std::string& where) {
  std::array<char, 16> end{};
  std::snprintf(end.data(), end.size(), ":%04X 01 ", std::stoi(where.substr(where.find(':') + 1)));
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (read_text("/proc/net/tcp").find(end.data()) == std::string::npos) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Two replicas by hand, and a coordinator that is killed and started anew; a stranger has come meanwhile.
/// While the two are stopped no step ends, so the run lasts as long as the test needs.
struct StartedAnew {
  StartedAnew() {
    start_coordinator();
    for (int i = 0; i < 2; ++i) join(kNewer);
    EXPECT_TRUE(coordinator->event("epoch").is_object());
    replicas(SIGSTOP);
    coordinator->signal(SIGKILL);
    EXPECT_EQ(coordinator->wait().code, 128 + SIGKILL);
    join(kOld);
    start_coordinator();
    EXPECT_TRUE(coordinator->event("restarted").is_object());
  }
  static std::string job_text() {
    std::string text = fashion_job("mlp");
    return text.replace(text.find("[train]"), 7, "[train]\nepochs = 60\nevaluate = false");
  }
  void start_coordinator() {
    coordinator = std::make_unique<MusterProcess>(
        Arguments{"coordinate", job, "--listen", where, "--replicas", "2", "--events", "-", "--report",
                  folder.path("report.json"), "--set", "checkpoint.folder=" + folder.path("kept"), "--set",
                  "checkpoint.every=1000000 steps", "--set", "cluster.detect.patience=1min", "--set",
                  "cluster.orphan_after=10min"});
  }
  void join(const Environment& environment) {
    joined.push_back(std::make_unique<MusterProcess>(Arguments{"join", "--coordinator", where}, environment));
  }
  void replicas(int number) const {
    for (int i = 0; i < 2; ++i) joined[i]->signal(number);
  }

  Folder folder;
  std::string job = folder.write("job.toml", job_text()), where = free_address();
  std::unique_ptr<MusterProcess> coordinator;
  std::vector<std::unique_ptr<MusterProcess>> joined;  // the last one: the stranger
};

// It is there before those are back with whom it could be compared: a whole run of the same job takes longer
// than all that a newcomer does to be admitted.
TEST(OtherBits, AreRefusedByACoordinatorThatWasStartedAnew) {
  StartedAnew run;
  ASSERT_TRUE(connects_to(run.where));
  const Folder folder;
  const Json undisturbed =
      run_job(folder.write("job.toml", StartedAnew::job_text()), folder, {"--replicas", "1"}, kNewer).report;
  run.replicas(SIGCONT);
  ASSERT_TRUE(run.coordinator->event("view").is_object());
  run.replicas(SIGSTOP);
  const Json refused = run.coordinator->event("refused");
  ASSERT_TRUE(refused.is_object());
  EXPECT_EQ(refused["replica"], 2) << refused;
  EXPECT_NE(refused["reason"].get<std::string>().find("replica 2 on "), std::string::npos) << refused;
  const Outcome outcome = run.joined.back()->wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("computes other bits than"), std::string::npos) << outcome.err;
  run.replicas(SIGCONT);
  EXPECT_EQ(run.coordinator->wait().code, 0);
  const Json report = read_json(run.folder.path("report.json"));
  EXPECT_EQ(report["outcome"], "completed") << report["reason"];
  EXPECT_EQ(report["weights_sha256"], undisturbed["weights_sha256"]);
  EXPECT_EQ(report["ledger"], undisturbed["ledger"]);
  for (const char* event : {"lost", "joined", "corrupt"})
    EXPECT_FALSE(report["event_counts"].contains(event)) << event;
}

}  // namespace
}  // namespace muster::other_bits_test
#endif
