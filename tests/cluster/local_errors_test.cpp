// An error of one replica (no memory, data that it cannot read) costs a view change, as its death would. What
// every replica meets ends the run, with its state.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "tests/cluster/muster_process.hpp"

namespace muster::local_errors_test {
namespace {

using namespace muster::cluster_test;

std::string job_with(const std::string& model, const std::string& source) {
  std::string text = linear_job();
  text.replace(text.find("epochs = 2"), 10, "epochs = 150\nevaluate = false");
  text.replace(text.find("name = \"linear\"\ninputs"), 15, "name = \"" + model + "\"");
  return text.replace(text.find("\"synthetic\""), 11, "\"" + source + "\"");
}

struct Trained {
  Outcome outcome;
  Json report;
  Json lost;  ///< the first event of that name
};

/// With three replicas; once epoch 5 has ended, replica 1 fails: `in` is what fails of it, if not all does.
Trained run_with(const std::string& model, const std::string& source, bool fails,
                 const std::vector<std::string>& sets = {}, const std::string& in = {}) {
  const Folder folder;
  Arguments arguments{"run",        folder.write("job.toml", job_with(model, source)),
                      "--replicas", "3",
                      "--events",   "-",
                      "--report",   folder.path("report.json")};
  for (const std::string& set : sets) arguments.insert(arguments.end(), {"--set", set});
  if (fails) {
    const std::string table = model == "failing" ? "model" : "data";
    arguments.insert(arguments.end(), {"--set", table + ".fail=" + folder.path("fail")});
  }
  MusterProcess process(arguments, {}, "muster_paced");
  const std::map<int, pid_t> pids = process.replicas(3);
  EXPECT_EQ(pids.size(), 3u);
  Trained run;
  if (fails) {
    process.event("epoch", [](const Json& event) { return event["epoch"] >= 5; });
    folder.write("fail." + in + std::to_string(pids.at(1)), "");
    run.lost = process.event("lost");
  }
  run.outcome = process.wait();
  EXPECT_TRUE(process.none_left_within(std::chrono::seconds(2)));
  run.report = read_json(folder.path("report.json"));
  return run;
}

void expect_the_undisturbed_end(const Trained& run, const Trained& undisturbed, const std::string& error) {
  ASSERT_EQ(undisturbed.outcome.code, 0) << undisturbed.outcome.err;
  ASSERT_EQ(run.outcome.code, 0) << run.outcome.err;
  EXPECT_EQ(run.report["weights_sha256"], undisturbed.report["weights_sha256"]);
  EXPECT_EQ(run.report["ledger"], undisturbed.report["ledger"]);
  EXPECT_EQ(run.report["event_counts"]["lost"], 1);
  ASSERT_TRUE(run.lost.is_object());
  EXPECT_EQ(run.lost["replica"], 1);
  const std::string reason = run.lost["reason"];
  for (const std::string& part : {error, std::string("shard "), std::string("epoch ")})
    EXPECT_NE(reason.find(part), std::string::npos) << reason;
}

TEST(LocalErrors, AReplicaWithoutMemoryIsReplacedByTheOthers) {
  expect_the_undisturbed_end(run_with("failing", "synthetic", true), run_with("failing", "synthetic", false),
                             "std::bad_alloc");
}

TEST(LocalErrors, AReplicaThatCannotEvaluateIsReplacedByTheOthers) {
  const std::vector<std::string> sets{"train.evaluate=true"};
  expect_the_undisturbed_end(run_with("failing", "synthetic", true, sets, "evaluate."),
                             run_with("failing", "synthetic", false, sets), "std::bad_alloc");
}

TEST(LocalErrors, AReplicaThatCannotReadItsDataIsReplacedByTheOthers) {
  expect_the_undisturbed_end(run_with("linear", "unreadable", true), run_with("linear", "unreadable", false),
                             "Input/output error");
}

// Loaders read for the replicas, which have no other way to the data.
TEST(LocalErrors, ALoaderThatCannotReadItsDataIsReplacedByTheOthers) {
  const Trained undisturbed = run_with("linear", "unreadable", false, {"cluster.loaders=2"});
  const Folder folder;
  MusterProcess process({"run", folder.write("job.toml", job_with("linear", "unreadable")), "--replicas", "3",
                         "--events", "-", "--report", folder.path("report.json"), "--set",
                         "data.fail=" + folder.path("fail"), "--set", "cluster.loaders=2"},
                        {}, "muster_paced");
  const Json loader =
      process.event("joined", [](const Json& event) { return event.value("loader", -1) == 1; });
  ASSERT_TRUE(loader.is_object());
  ASSERT_TRUE(process.event("epoch", [](const Json& event) { return event["epoch"] >= 5; }).is_object());
  folder.write("fail." + std::to_string(loader["pid"].get<pid_t>()), "");
  const Json lost = process.event("lost");
  ASSERT_TRUE(lost.is_object());
  EXPECT_EQ(lost.value("loader", -1), 1) << lost;
  EXPECT_NE(lost["reason"].get<std::string>().find("Input/output error"), std::string::npos) << lost;
  const Outcome outcome = process.wait();
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(process.none_left_within(std::chrono::seconds(2)));
  const Json report = read_json(folder.path("report.json"));
  ASSERT_EQ(undisturbed.outcome.code, 0) << undisturbed.outcome.err;
  EXPECT_EQ(report["weights_sha256"], undisturbed.report["weights_sha256"]);
  EXPECT_EQ(report["ledger"], undisturbed.report["ledger"]);
  EXPECT_EQ(report["event_counts"].value("lost", 0), 1) << report["event_counts"];
}

TEST(LocalErrors, WithOnLossFailTheFirstOneEndsTheRun) {
  const Trained run = run_with("failing", "synthetic", true, {"cluster.on_loss=fail"});
  EXPECT_EQ(run.outcome.code, 1) << run.outcome.err;
  const std::string reason = run.report["reason"];
  EXPECT_NE(reason.find("replica 1: the model failed at shard "), std::string::npos) << reason;
  EXPECT_FALSE(run.report["event_counts"].contains("lost"));
}

TEST(LocalErrors, AMicroBatchThatFailsTwoReplicasEndsTheRunWithItsState) {
  const Folder kept;
  const Trained run = run_with("failing", "synthetic", false,
                               {"model.fail_step=200", "model.fail_shard=2",
                                "checkpoint.folder=" + kept.path("kept"), "checkpoint.every=100000 steps"});
  EXPECT_EQ(run.outcome.code, 1) << run.outcome.err;
  const std::string reason = run.report["reason"];
  for (const char* part :
       {"two nodes have failed at shard 2, epoch 13, step 8 of it", "no answer for this sample"})
    EXPECT_NE(reason.find(part), std::string::npos) << reason;
  EXPECT_EQ(run.report["outcome"], "failed");
  EXPECT_EQ(run.report["event_counts"]["lost"], 1);
  EXPECT_EQ(run.report["event_counts"]["state_kept"], 1);
  EXPECT_EQ(run.report["event_counts"]["failed"], 1);
  EXPECT_TRUE(std::filesystem::is_regular_file(run.report["checkpoint"].get<std::string>()));
  EXPECT_NE(run.outcome.err.find("two nodes have failed at shard 2"), std::string::npos) << run.outcome.err;
}

TEST(LocalErrors, OfOneReplicaNothingIsLeft) {
  const Folder folder;
  MusterProcess process({"run", folder.write("job.toml", job_with("failing", "synthetic")), "--replicas", "1",
                         "--report", folder.path("report.json"), "--set", "model.fail_step=20"},
                        {}, "muster_paced");
  EXPECT_EQ(process.wait().code, 1);
  const std::string reason = read_json(folder.path("report.json"))["reason"];
  EXPECT_NE(reason.find("replica 0: the model failed at shard 0"), std::string::npos) << reason;
  EXPECT_NE(reason.find("no other replica is left"), std::string::npos) << reason;
}

}  // namespace
}  // namespace muster::local_errors_test
