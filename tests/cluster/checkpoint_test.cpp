// A run that is killed as a whole, launcher and all, goes on from its newest whole checkpoint, on any number
// of replicas, to the weights and the ledger of a run that was never disturbed.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "gpu/files/safetensors.hpp"
#include "gpu/optimizer/state_hash.hpp"
#include "tests/cluster/muster_process.hpp"
#include "tests/support/sanitized.hpp"

namespace muster::checkpoint_test {
namespace {

using namespace muster::cluster_test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr int kEpochs = muster::kSanitized ? 160 : 400;  // 16 steps each, so that there is time to kill

std::string job_of_many_epochs() {
  std::string text = linear_job();
  return text.replace(text.find("epochs = 2"), 10, "epochs = " + std::to_string(kEpochs));
}

Arguments with_checkpoints(const Folder& folder, const std::string& where, int replicas) {
  return {"run",        folder.write("job.toml", job_of_many_epochs()),
          "--replicas", std::to_string(replicas),
          "--events",   "-",
          "--report",   folder.path("report.json"),
          "--set",      "checkpoint.folder=" + where,
          "--set",      "checkpoint.every=10 steps"};
}

const Json& undisturbed() {
  static const Json report = [] {
    const Folder folder;
    return run_job(folder.write("job.toml", job_of_many_epochs()), folder, {"--replicas", "2"}).report;
  }();
  return report;
}

void expect_undisturbed(const Outcome& outcome, const Json& report) {
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(report["weights_sha256"], undisturbed()["weights_sha256"]);
  EXPECT_EQ(report["steps"], undisturbed()["steps"]);
  EXPECT_EQ(report["samples"], undisturbed()["samples"]);
  EXPECT_EQ(report["ledger"], undisturbed()["ledger"]);
  EXPECT_EQ(report["evaluation"], undisturbed()["evaluation"]);
  EXPECT_EQ(report["ledger"].size(), static_cast<std::size_t>(kEpochs));
}

// Kills every process of a run once this step's checkpoint is there.
void kill_all_after(const Folder& folder, const std::string& where, int replicas, int step) {
  MusterProcess process(with_checkpoints(folder, where, replicas));
  ASSERT_TRUE(
      process.event("checkpoint", [&](const Json& event) { return event["step"] >= step; }).is_object());
  for (const pid_t pid : process.alive()) ::kill(pid, SIGKILL);
  EXPECT_EQ(process.wait().code, 128 + SIGKILL);
  EXPECT_TRUE(process.none_left_within(2s));
}

struct Resumed {
  Outcome outcome;
  Json report;
  Json event;  // `resumed`
};

Resumed resume(const Folder& folder, const std::string& where, int replicas) {
  Arguments arguments = with_checkpoints(folder, where, replicas);
  arguments.push_back("--resume");
  MusterProcess process(arguments);
  Resumed resumed;
  resumed.event = process.event("resumed");
  resumed.outcome = process.wait();
  resumed.report = read_json(folder.path("report.json"));
  return resumed;
}

std::vector<std::string> manifests_in(const std::string& where) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(where)) {
    const std::string name = entry.path().string();
    if (name.find(".manifest.json") != std::string::npos && name.find(".tmp.") == std::string::npos)
      found.push_back(name);
  }
  return found;
}

TEST(Checkpoint, AllKilledAndResumedOnAnotherNumberOfReplicas) {
  for (const auto& [before, after] : {std::pair{2, 3}, std::pair{4, 1}}) {
    const Folder folder;
    const std::string where = folder.path("kept");
    kill_all_after(folder, where, before, 100);
    const Resumed run = resume(folder, where, after);
    ASSERT_TRUE(run.event.is_object()) << run.outcome.err;
    EXPECT_GE(run.event["step"].get<int>(), 100);
    EXPECT_NE(run.outcome.err.find("resumed after step"), std::string::npos) << run.outcome.err;
    expect_undisturbed(run.outcome, run.report);
    EXPECT_LE(manifests_in(where).size(), 4u);  // of three steps, and of the end behind the last of them
    const auto weights = muster::read_safetensors(run.report["checkpoint"].get<std::string>());
    EXPECT_EQ(muster::state_sha256(weights.state), run.report["weights_sha256"].get<std::string>());
  }
}

TEST(Checkpoint, ADamagedNewestOneIsPassedOver) {
  const Folder folder;
  const std::string where = folder.path("kept");
  kill_all_after(folder, where, 2, 60);
  int newest = -1;
  std::string file;
  for (const std::string& manifest : manifests_in(where)) {
    const Json json = read_json(manifest);
    if (json["step"].get<int>() <= newest) continue;
    newest = json["step"].get<int>();
    file = where + "/" + json["files"]["weights"]["name"].get<std::string>();
  }
  fs::resize_file(file, fs::file_size(file) / 2);
  const Resumed run = resume(folder, where, 2);
  ASSERT_TRUE(run.event.is_object()) << run.outcome.err;
  EXPECT_LT(run.event["step"].get<int>(), newest);
  EXPECT_NE(run.event["passed_over"].get<std::string>().find("bytes, not"), std::string::npos) << run.event;
  expect_undisturbed(run.outcome, run.report);
}

TEST(Checkpoint, WithoutAnyResumeIsRefused) {
  const Folder folder;
  const std::string where = folder.path("kept");
  const Resumed nothing = resume(folder, where, 2);
  EXPECT_EQ(nothing.outcome.code, 2);
  EXPECT_NE(nothing.outcome.err.find("no checkpoint of this job"), std::string::npos) << nothing.outcome.err;
  EXPECT_EQ(nothing.report["outcome"], "failed");

  kill_all_after(folder, where, 2, 20);
  for (const std::string& manifest : manifests_in(where)) fs::resize_file(manifest, 20);
  const Resumed damaged = resume(folder, where, 2);
  EXPECT_EQ(damaged.outcome.code, 2);
  EXPECT_NE(damaged.outcome.err.find("its manifest is damaged"), std::string::npos) << damaged.outcome.err;

  const Outcome no_folder = run_muster({"run", folder.write("job.toml", linear_job()), "--resume"});
  EXPECT_EQ(no_folder.code, 2);
  EXPECT_NE(no_folder.err.find("checkpoint.folder"), std::string::npos) << no_folder.err;
}

TEST(Checkpoint, ACompleteRunCompletesAtOnce) {
  const Folder folder;
  const std::string where = folder.path("kept");
  ASSERT_EQ(run_muster(with_checkpoints(folder, where, 2)).code, 0);
  const Resumed run = resume(folder, where, 3);
  expect_undisturbed(run.outcome, run.report);
}

// A file stands where the folder should be, and goes away in the middle of the run.
// A folder that cannot be made, as on a server that is away. What is seen to be no folder is refused.
std::string folder_that_cannot_be(const Folder& folder) {
  const std::string link = folder.path("kept");
  fs::create_symlink(folder.path("away/kept"), link);
  return link;
}

TEST(Checkpoint, AFolderThatCannotBeIsAnEventAndTrainingGoesOn) {
  const Folder folder;
  const std::string where = folder_that_cannot_be(folder);
  MusterProcess process(with_checkpoints(folder, where, 2));
  const Json failed = process.event("checkpoint_delayed");
  ASSERT_TRUE(failed.is_object());
  EXPECT_NE(failed["advice"].get<std::string>().find("folder"), std::string::npos) << failed;
  fs::remove(where);
  const Outcome outcome = process.wait();
  expect_undisturbed(outcome, read_json(folder.path("report.json")));
  EXPECT_GE(manifests_in(where).size(), 1u);
}

// Both would write, prune and go on from the same files.
TEST(Checkpoint, ASecondRunInOneFolderIsRefusedWhileTheFirstIsAtWork) {
  const Folder folder, other;
  const std::string where = folder.path("kept");
  Arguments endless = with_checkpoints(folder, where, 1);
  endless.insert(endless.end(), {"--set", "train.epochs=100000000"});
  MusterProcess first(endless);
  ASSERT_TRUE(first.event("checkpoint").is_object());
  const Outcome second = run_muster(with_checkpoints(other, where, 1));
  EXPECT_NE(second.code, 0);
  EXPECT_NE(second.err.find("another coordinator of this job is at work"), std::string::npos) << second.err;
  EXPECT_TRUE(first.event("checkpoint").is_object()) << "it is not disturbed";
}

TEST(Checkpoint, ARunThatLeavesNoWeightsHasFailed) {
  const Folder folder;
  const std::string in_the_way = folder_that_cannot_be(folder);
  Arguments arguments = with_checkpoints(folder, in_the_way, 2);
  arguments.insert(arguments.end(),
                   {"--set", "cluster.give_up_after=1s", "--set", "checkpoint.spare_folder=" + in_the_way});
  const Outcome outcome = run_muster(arguments);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("last checkpoint could not be written"), std::string::npos) << outcome.err;
}

TEST(Checkpoint, TheLastOneGoesToTheSpareFolderIfTheOtherTakesNone) {
  const Folder folder;
  Arguments arguments = with_checkpoints(folder, folder_that_cannot_be(folder), 2);
  const std::string spare = folder.path("spare");
  arguments.insert(arguments.end(),
                   {"--set", "cluster.give_up_after=1s", "--set", "checkpoint.spare_folder=" + spare});
  const Outcome outcome = run_muster(arguments);
  const Json report = read_json(folder.path("report.json"));
  expect_undisturbed(outcome, report);
  EXPECT_EQ(report["event_counts"]["checkpoint_spared"], 1);
  const auto weights = muster::read_safetensors(report["checkpoint"].get<std::string>());
  EXPECT_EQ(muster::state_sha256(weights.state), report["weights_sha256"].get<std::string>());
  EXPECT_TRUE(report["checkpoint"].get<std::string>().starts_with(spare));
}

TEST(Checkpoint, TheSpareFolderIsInTheOneForTemporaryFilesIfTheJobNamesNone) {
  const Folder folder;
  const fs::path temporary = folder.path("temporary");
  ASSERT_TRUE(fs::create_directory(temporary));
  Arguments arguments = with_checkpoints(folder, folder_that_cannot_be(folder), 2);
  arguments.insert(arguments.end(), {"--set", "cluster.give_up_after=1s"});
  const Outcome outcome = run_muster(arguments, {{"TMPDIR", temporary.string()}});
  const Json report = read_json(folder.path("report.json"));
  expect_undisturbed(outcome, report);
  EXPECT_EQ(report["event_counts"].value("checkpoint_spared", 0), 1);
  const fs::path weights = report["checkpoint"].get<std::string>();
  EXPECT_EQ(weights.parent_path(), temporary / ("muster-" + std::to_string(::getuid())));
  EXPECT_EQ(fs::status(weights.parent_path()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(muster::state_sha256(muster::read_safetensors(weights).state),
            report["weights_sha256"].get<std::string>());
}

// No file may grow, as on a disk that is full; in the middle of the run there is room again.
TEST(Checkpoint, WithoutRoomItIsAnEventAndTrainingGoesOn) {
  const Folder folder;
  const std::string where = folder.path("kept");
  Arguments arguments = with_checkpoints(folder, where, 2);
  MusterProcess process(arguments, {{"UCX_TLS", "tcp"}});
  const Json writer = process.event("joined", [](const Json& event) { return event["replica"] == 0; });
  ASSERT_TRUE(writer.is_object());
  const pid_t pid = writer["pid"].get<pid_t>();
  const rlimit none{100, RLIM_INFINITY}, any{RLIM_INFINITY, RLIM_INFINITY};
  ASSERT_EQ(::prlimit(pid, RLIMIT_FSIZE, &none, nullptr), 0);
  const Json failed = process.event("checkpoint_delayed");
  ASSERT_EQ(::prlimit(pid, RLIMIT_FSIZE, &any, nullptr), 0);
  ASSERT_TRUE(failed.is_object());
  EXPECT_NE(failed["advice"].get<std::string>().find("limit on the size"), std::string::npos) << failed;
  const Outcome outcome = process.wait();
  expect_undisturbed(outcome, read_json(folder.path("report.json")));
  EXPECT_GE(manifests_in(where).size(), 1u);
}

}  // namespace
}  // namespace muster::checkpoint_test
