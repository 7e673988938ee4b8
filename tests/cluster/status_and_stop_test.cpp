// A run that is asked how it stands, and told to end, by another process.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "actors/run/remote_run.hpp"
#include "tests/cluster/paced_job.hpp"

namespace muster::status_and_stop_test {
namespace {

using namespace muster::cluster_test;
using namespace std::chrono_literals;

/// One that lasts as long as the test needs, seen in the middle of training.
struct LongRun {
  explicit LongRun(const Arguments& more = {}) : process(arguments(folder, more), {}, "muster_paced") {
    const Json epoch = process.event("epoch", [](const Json& event) { return event["epoch"] >= 3; });
    EXPECT_TRUE(epoch.is_object()) << "the run does not get going";
  }
  static Arguments arguments(const Folder& folder, const Arguments& more) {
    Arguments all{"run",        folder.write("job.toml", paced_job({.epochs = 1000})),
                  "--events",   "-",
                  "--report",   folder.path("r.json"),
                  "--replicas", "2"};
    for (const Arguments& some : {paced_sets(folder), more}) all.insert(all.end(), some.begin(), some.end());
    return all;
  }
  std::string kept() const { return folder.path("kept"); }
  Json status() const { return Json::parse(run_muster({"status", kept(), "--json"}).out, nullptr, false); }

  Folder folder;
  MusterProcess process;
};

std::vector<std::string> files_ending(const std::string& folder, const std::string& ending) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().string().ends_with(ending)) names.push_back(entry.path().filename());
  }
  return names;
}

TEST(StatusAndStop, ARunSaysHowItStands) {
  LongRun run;
  const Json status = run.status();
  ASSERT_TRUE(status.is_object());
  EXPECT_EQ(status["job"], "paced");
  EXPECT_EQ(status["state"], "training");
  EXPECT_GE(status["step"], 18);
  EXPECT_EQ(status["steps"], 6000);
  EXPECT_TRUE(status["samples_per_second"].is_null() || status["samples_per_second"] > 0);
  ASSERT_EQ(status["nodes"].size(), 2u);
  const auto alive = run.process.alive();
  for (const Json& node : status["nodes"]) {
    EXPECT_EQ(node["state"], "member");
    EXPECT_EQ(node["address"], "127.0.0.1");
    EXPECT_NE(std::ranges::find(alive, node["pid"].get<pid_t>()), alive.end()) << node;
  }
  const Outcome text = run_muster({"status", run.kept()});
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.out.find("paced: training"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find(" of 6000"), std::string::npos) << text.out;
}

TEST(StatusAndStop, ARunIsFoundByItsAddressToo) {
  LongRun run({"--set", "report.progress_every=off"});
  const auto addresses = files_ending(run.kept(), ".address");
  ASSERT_EQ(addresses.size(), 1u);
  const Json where = read_json(run.kept() + "/" + addresses[0]);
  const Outcome text = run_muster(
      {"status", where["listen"].get<std::string>() + ":" + std::to_string(where["port"].get<int>())});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("paced: training"), std::string::npos) << text.out;
}

TEST(StatusAndStop, StopKeepsTheStateAndSaysWhich) {
  LongRun run;
  const Outcome stop = run_muster({"stop", run.kept()});
  EXPECT_EQ(stop.code, 0) << stop.err;
  const Outcome outcome = run.process.wait();
  EXPECT_EQ(outcome.code, 143) << outcome.err;
  const Json report = read_json(run.folder.path("r.json"));
  EXPECT_EQ(report["outcome"], "interrupted");
  EXPECT_TRUE(report["reason"].get<std::string>().starts_with("muster stop, by ")) << report["reason"];
  EXPECT_EQ(report["event_counts"]["state_kept"], 1);
  EXPECT_EQ(report["weights_sha256"].get<std::string>().size(), 64u);
  EXPECT_NE(stop.out.find("paced: interrupted at step " + std::to_string(report["steps"].get<int>()) +
                          "; last checkpoint: step " + std::to_string(report["steps"].get<int>()) + ", "),
            std::string::npos)
      << stop.out;
  EXPECT_NE(outcome.err.find("muster_paced run"), std::string::npos) << outcome.err;
  EXPECT_TRUE(files_ending(run.kept(), ".address").empty());
  const Outcome after = run_muster({"status", run.kept()});
  EXPECT_EQ(after.code, 1);
  EXPECT_NE(after.err.find("no run with checkpoint.folder"), std::string::npos) << after.err;
}

// The replicas stand still, so that a last checkpoint would take its whole grace.
TEST(StatusAndStop, NowEndsARunThatCannotKeepItsState) {
  LongRun run({"--set", "checkpoint.grace=50s", "--set", "cluster.detect.patience=50s"});
  for (const pid_t pid : run.process.alive()) {
    if (pid != run.process.pid()) ::kill(pid, SIGSTOP);
  }
  const Outcome first = run_muster({"stop", run.kept(), "--wait", "1"});
  EXPECT_EQ(first.code, 1);
  EXPECT_NE(first.err.find("--now ends it without a checkpoint"), std::string::npos) << first.err;
  EXPECT_EQ(run.status()["state"], "ending");
  const Outcome now = run_muster({"stop", run.kept(), "--now"});
  EXPECT_EQ(now.code, 0) << now.err;
  EXPECT_EQ(run.process.wait().code, 143);
  EXPECT_TRUE(run.process.none_left_within(2s));
}

// A second request while the last checkpoint is written costs nothing: it waits with the first one.
TEST(StatusAndStop, WhoStopsTwiceLosesNothing) {
  LongRun run({"--set", "checkpoint.grace=50s", "--set", "cluster.detect.patience=50s"});
  const auto members = run.process.alive();
  for (const pid_t pid : members) {
    if (pid != run.process.pid()) ::kill(pid, SIGSTOP);
  }
  EXPECT_EQ(run_muster({"stop", run.kept(), "--wait", "1"}).code, 1);
  MusterProcess second({"stop", run.kept()});
  EXPECT_TRUE(second.quiet_for(500ms));
  for (const pid_t pid : members) ::kill(pid, SIGCONT);
  EXPECT_EQ(second.wait().code, 0);
  EXPECT_EQ(run.process.wait().code, 143);
  EXPECT_EQ(read_json(run.folder.path("r.json"))["event_counts"]["state_kept"], 1);
}

TEST(StatusAndStop, ARunWhoseReplicasAreThreadsSaysHowToEndIt) {
  LongRun run({"--in-process"});
  const Outcome status = run_muster({"status", run.kept()});
  EXPECT_EQ(status.code, 1);
  EXPECT_NE(status.err.find("end it with: kill " + std::to_string(run.process.pid())), std::string::npos)
      << status.err;
}

TEST(StatusAndStop, ManyAtTheSameMomentLoseNothing) {
  LongRun run;
  std::vector<std::unique_ptr<MusterProcess>> stops;
  for (int i = 0; i < 6; ++i) stops.push_back(std::make_unique<MusterProcess>(Arguments{"stop", run.kept()}));
  for (const auto& stop : stops) stop->wait();  // those that come too late find no run
  EXPECT_EQ(run.process.wait().code, 143);
  const Json report = read_json(run.folder.path("r.json"));
  EXPECT_EQ(report["event_counts"]["state_kept"], 1);
  EXPECT_FALSE(report["event_counts"].contains("state_not_kept"));
}

TEST(StatusAndStop, AJobFileMeansTheJobOfItsName) {
  LongRun run;
  std::string text = paced_job({});
  text.replace(text.find("paced"), 5, "other");
  text.replace(text.find("samples = 60"), 12, "samples = 60\ngate = \"none\"");
  text.replace(text.find("keep = 100"), 10, "keep = 100\nfolder = \"" + run.kept() + "\"");
  const std::string other = run.folder.write("other.toml", text);
  const Outcome stop = MusterProcess({"stop", other}, {}, "muster_paced").wait();
  EXPECT_EQ(stop.code, 1);
  EXPECT_NE(stop.err.find("no run of that name keeps its state in"), std::string::npos) << stop.err;
  EXPECT_EQ(run.status()["state"], "training");
}

TEST(StatusAndStop, ARunThatWasKilledIsNotUnderWay) {
  LongRun run;
  run.process.signal(SIGKILL);
  EXPECT_EQ(run.process.wait().code, 128 + SIGKILL);
  const Outcome status = run_muster({"status", run.kept()});
  EXPECT_EQ(status.code, 1);
  EXPECT_NE(status.err.find("its coordinator, process " + std::to_string(run.process.pid())),
            std::string::npos)
      << status.err;
}

TEST(StatusAndStop, ACoordinatorThatIsStoppedIsSaidToBe) {
  LongRun run;
  run.process.signal(SIGSTOP);
  const Outcome status = run_muster({"status", run.kept()});
  EXPECT_EQ(status.code, 1);
  EXPECT_NE(status.err.find("let it go on with: kill -CONT " + std::to_string(run.process.pid())),
            std::string::npos)
      << status.err;
  run.process.signal(SIGCONT);
  EXPECT_EQ(run.status()["state"], "training");
}

TEST(StatusAndStop, ACoordinatorThatIsKilledMeanwhileHasNotEndedItsRun) {
  LongRun run({"--set", "checkpoint.grace=50s", "--set", "cluster.detect.patience=50s"});
  for (const pid_t pid : run.process.alive()) {
    if (pid != run.process.pid()) ::kill(pid, SIGSTOP);
  }
  MusterProcess stop({"stop", run.kept()});
  ASSERT_TRUE(run.process.event("interrupted").is_object());
  EXPECT_TRUE(stop.quiet_for(200ms));
  run.process.signal(SIGKILL);
  const Outcome outcome = stop.wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("has ended without its last report"), std::string::npos) << outcome.err;
}

TEST(StatusAndStop, WhatIsNoRunIsSaidToBeNone) {
  const Folder folder;
  const Outcome nowhere = run_muster({"status", folder.path("nothing")});
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_NE(nowhere.err.find("neither a folder that is there, nor a job file, nor HOST:PORT"),
            std::string::npos)
      << nowhere.err;
  const Outcome port = run_muster({"status", "127.0.0.1:99999"});
  EXPECT_EQ(port.code, 2) << port.err;
  const Outcome broken = run_muster({"status", folder.write("broken.toml", "name = 3\n")});
  EXPECT_EQ(broken.code, 2) << broken.err;
  const std::string job =
      folder.write("job.toml", linear_job() + "[checkpoint]\nfolder = \"" + folder.path("nothing") + "\"\n");
  const Outcome not_begun = run_muster({"status", job});
  EXPECT_EQ(not_begun.code, 1);
  EXPECT_NE(not_begun.err.find("is not there yet"), std::string::npos) << not_begun.err;
  const Outcome nobody = run_muster({"stop", free_address()});
  EXPECT_EQ(nobody.code, 1);
  EXPECT_NE(nobody.err.find("nothing listens there; the run has ended, or has another address"),
            std::string::npos)
      << nobody.err;
  for (const char* command : {"status", "stop"}) {
    const Outcome url = run_muster({command, "http://host2:7100/"});
    EXPECT_EQ(url.code, 2);
    EXPECT_NE(
        url.err.find("is a URL; write HOST:PORT of the run's coordinator, without a scheme: host2:7100\n"),
        std::string::npos)
        << url.err;
  }
  EXPECT_EQ(run_muster({"stop"}).code, 2);
  EXPECT_EQ(run_muster({"stop", folder.path("nothing"), "--wait", "0"}).code, 2);
}

/// A coordinator whose replicas are to come by hand, and have not.
struct WaitingRun {
  WaitingRun() { EXPECT_TRUE(coordinator.event("listening").is_object()); }

  Folder folder;
  std::string address = free_address();
  MusterProcess coordinator{
      {"coordinate", folder.write("job.toml", linear_job()), "--listen", address, "--events", "-"}};
};

// Nothing is there to keep.
TEST(StatusAndStop, ARunThatWaitsForItsNodesSaysForWhom) {
  WaitingRun waiting;
  const Outcome status = run_muster({"status", waiting.address});
  EXPECT_NE(status.out.find("linear: waiting for nodes: 0 of 2 replicas are here"), std::string::npos)
      << status.out;
  const Json json = Json::parse(run_muster({"status", waiting.address, "--json"}).out, nullptr, false);
  for (const char* unknown : {"epoch", "loss", "samples_per_second", "checkpoint"})
    EXPECT_TRUE(json[unknown].is_null()) << unknown << " in " << json;
  EXPECT_EQ(run_muster({"stop", waiting.address}).code, 0);
  EXPECT_EQ(waiting.coordinator.wait().code, 143);
}

// Who tells it to end asked for its last report first: its process is gone before anybody could ask again.
TEST(StatusAndStop, ARunThatEndsAtOnceHasALastReport) {
  WaitingRun waiting;
  muster::RemoteRun run(waiting.address);
  run.stop("muster stop, by a test");
  EXPECT_EQ(waiting.coordinator.wait().code, 143);
  const auto last = run.wait(5s);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->state, "interrupted");
}

// The nodes of a coordinator were started elsewhere: nobody else would end them.
TEST(StatusAndStop, ASecondSignalToACoordinatorEndsItsNodes) {
  const Folder folder;
  const std::string address = free_address();
  const std::string job = folder.write("job.toml", paced_job({.epochs = 1000}));
  Arguments arguments{"coordinate", job,
                      "--listen",   address,
                      "--events",   "-",
                      "--replicas", "2",
                      "--set",      "checkpoint.grace=50s",
                      "--set",      "cluster.detect.patience=50s"};
  for (const std::string& word : paced_sets(folder)) arguments.push_back(word);
  MusterProcess coordinator(arguments, {}, "muster_paced");
  MusterProcess one({"join", "--coordinator", address}, {}, "muster_paced");
  MusterProcess other({"join", "--coordinator", address}, {}, "muster_paced");
  ASSERT_TRUE(coordinator.event("epoch").is_object());
  one.signal(SIGSTOP);  // the last checkpoint waits for it
  coordinator.signal(SIGTERM);
  ASSERT_TRUE(coordinator.event("interrupted").is_object());
  ASSERT_TRUE(coordinator.quiet_for(600ms)) << "sooner it would be an echo of the first one";
  coordinator.signal(SIGTERM);
  EXPECT_EQ(coordinator.wait().code, 143);
  EXPECT_EQ(other.wait().code, 1);
  one.signal(SIGCONT);
  EXPECT_EQ(one.wait().code, 1);
}

}  // namespace
}  // namespace muster::status_and_stop_test
