// What a run tells: events as they happen, the report, and what is printed.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <sstream>

#include "actors/events/event.hpp"
#include "tests/cluster/muster_process.hpp"

namespace muster::events_test {
namespace {

using namespace muster::cluster_test;

std::vector<Json> lines_of(const std::string& text) {
  std::vector<Json> events;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) events.push_back(Json::parse(line, nullptr, false));
  return events;
}

std::size_t kind_of(const Json& value) {
  if (value.is_boolean()) return 3;
  if (value.is_string()) return 2;
  return value.is_number_float() ? 1 : 0;
}

// Name, fields and kinds are those of the table.
void expect_in_table(const Json& event) {
  ASSERT_TRUE(event.is_object());
  ASSERT_TRUE(event["event"].is_string()) << event;
  EXPECT_TRUE(event["time_ms"].is_number()) << event;
  const auto* spec = muster::find_event(event["event"].get<std::string>());
  ASSERT_NE(spec, nullptr) << event;
  for (const auto& [key, value] : event.items()) {
    if (key == "event" || key == "time_ms" || key == "time") continue;
    const bool names_a_node = event.contains("replica") || event.contains("loader");
    if (names_a_node && value.is_string() && (key == "host" || key == "address")) continue;
    const auto field = std::find_if(spec->fields.begin(), spec->fields.end(),
                                    [&, wanted = key](const auto& f) { return f.key == wanted; });
    ASSERT_NE(field, spec->fields.end()) << key << " in " << event;
    EXPECT_EQ(kind_of(value), field->kind) << key << " in " << event;
  }
}

std::vector<Json> events_named(const Json& report, const std::string& name) {
  std::vector<Json> found;
  for (const Json& event : report["events"]) {
    if (event["event"] == name) found.push_back(event);
  }
  return found;
}

RunResult run_linear(const Folder& folder, const Arguments& more) {
  return run_job(folder.write("job.toml", linear_job()), folder, more);
}

std::string stepping_job(const std::string& steps) {
  std::string text = linear_job();
  return text.replace(text.find("epochs = 2"), 10, steps);
}

TEST(Events, ProgressIsToldOnTheWay) {
  const Folder folder;
  const std::string job = folder.write("job.toml", stepping_job("epochs = 3"));
  const RunResult run =
      run_job(job, folder, {"--events", folder.path("events"), "--set", "report.progress_every=10 steps"});
  EXPECT_EQ(run.outcome.code, 0) << run.outcome.err;
  std::vector<Json> told;
  for (const Json& event : lines_of(read_text(folder.path("events")))) {
    expect_in_table(event);
    if (event["event"] == "progress") told.push_back(event);
  }
  const Json& rows = run.report["progress"];
  ASSERT_EQ(told.size(), 4u);
  ASSERT_EQ(rows.size(), 4u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(told[i]["step"], 10 * (i + 1));
    for (const char* key : {"step", "samples", "loss", "learning_rate", "time_ms"})
      EXPECT_EQ(told[i][key], rows[i][key]) << key;
  }
  EXPECT_TRUE(events_named(run.report, "progress").empty());
  EXPECT_EQ(run.report["event_counts"]["progress"], 4);
  const Json& epoch = run.report["epochs"].at(0);
  EXPECT_EQ(epoch["loss"], run.report["training"][0]["loss"]);
  EXPECT_EQ(epoch["used"], run.report["ledger"][0]["used"]);
}

TEST(Events, FileHoldsWhatTheReportHolds) {
  const Folder folder;
  const RunResult run = run_linear(
      folder, {"--replicas", "3", "--events", folder.path("events"), "--set", "report.progress_every=off"});
  EXPECT_EQ(run.outcome.code, 0);
  const auto events = lines_of(read_text(folder.path("events")));
  ASSERT_EQ(events.size(), run.report["events"].size());
  double time = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    expect_in_table(events[i]);
    Json event = events[i], reported = run.report["events"][i];
    for (Json* each : {&event, &reported}) {  // each by the clock of who writes it
      EXPECT_TRUE(std::regex_match((*each)["time"].get<std::string>(),
                                   std::regex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{3}Z")))
          << *each;
      each->erase("time");
    }
    EXPECT_EQ(event, reported);
    EXPECT_GE(events[i]["time_ms"], time);
    time = events[i]["time_ms"];
  }
  EXPECT_EQ(events.front()["event"], "started");
  EXPECT_EQ(events.back()["event"], "completed");
  EXPECT_EQ(run.report["event_counts"]["joined"], 3);
  EXPECT_EQ(run.report["event_counts"]["left"], 3);
  EXPECT_EQ(run.report["event_counts"]["epoch"], 2);
}

// 1237 = 15 x 80 + 37: in the 16th step every shard is short, so none stands out.
TEST(Events, AllShardsShortAlikeIsNoEvent) {
  const Folder folder;
  const RunResult run = run_linear(folder, {});
  EXPECT_TRUE(events_named(run.report, "short").empty());
  EXPECT_TRUE(events_named(run.report, "exhausted").empty());
}

// Five shards of micro-batches of 16: with 83 samples, shards 0 to 2 have 17 and shards 3 and 4 have 16.
TEST(Events, ShardThatEndsBeforeOthersIsExhausted) {
  const Folder folder;
  const RunResult run = run_linear(folder, {"--set", "data.take=83", "--set", "train.epochs=1"});
  EXPECT_EQ(run.outcome.code, 0);
  const auto exhausted = events_named(run.report, "exhausted");
  ASSERT_EQ(exhausted.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(exhausted[i]["scope"], "shard");
    EXPECT_EQ(exhausted[i]["shard"], 3 + i);
    EXPECT_EQ(exhausted[i]["epoch"], 1);
    EXPECT_EQ(exhausted[i]["step"], 2);
  }
  const auto shorts = events_named(run.report, "short");
  ASSERT_EQ(shorts.size(), 3u);
  EXPECT_EQ(shorts[0]["rows"], 1);
  EXPECT_EQ(shorts[0]["full"], 16);
  EXPECT_EQ(run.report["steps"], 2);
  EXPECT_EQ(run.report["ledger"][0]["used"], 83);
}

TEST(Events, TakeOfMoreThanThereIsIsExhaustedAndCompleted) {
  const Folder folder;
  const RunResult run = run_linear(folder, {"--set", "data.take=5000", "--set", "data.skip=37"});
  EXPECT_EQ(run.outcome.code, 0);
  EXPECT_EQ(run.report["outcome"], "completed");
  const auto exhausted = events_named(run.report, "exhausted");
  ASSERT_EQ(exhausted.size(), 1u);
  EXPECT_EQ(exhausted[0]["scope"], "job");
  EXPECT_EQ(exhausted[0]["what"], "data.take");
  EXPECT_EQ(exhausted[0]["asked"], 5000);
  EXPECT_EQ(exhausted[0]["had"], 1200);
  EXPECT_EQ(run.report["ledger"][0]["used"], 1200);
}

TEST(Events, StepsBeyondTheDataAreExhaustedAndCompleted) {
  const Folder folder;
  const std::string file = folder.write("job.toml", stepping_job("steps = 100"));
  const RunResult run = run_job(file, folder, {"--set", "data.repeat=3"});
  EXPECT_EQ(run.outcome.code, 0);
  EXPECT_EQ(run.report["outcome"], "completed");
  EXPECT_EQ(run.report["steps"], 48);
  const auto exhausted = events_named(run.report, "exhausted");
  ASSERT_EQ(exhausted.size(), 1u);
  EXPECT_EQ(exhausted[0]["scope"], "job");
  EXPECT_EQ(exhausted[0]["what"], "train.steps");
  EXPECT_EQ(exhausted[0]["asked"], 100);
  EXPECT_EQ(exhausted[0]["had"], 48);
  for (const Json& row : run.report["ledger"]) EXPECT_EQ(row["complete"], true);
}

TEST(Events, ReportHoldsAThousandAtMostAndCountsAll) {
  const Folder folder;
  const std::string file = folder.write("job.toml", linear_job());
  const RunResult run = run_job(file, folder,
                                {"--set", "train.epochs=400", "--set", "data.take=83", "--set",
                                 "train.evaluate=false", "--events", folder.path("events")});
  EXPECT_EQ(run.outcome.code, 0);
  EXPECT_EQ(run.report["events"].size(), 1000u);
  EXPECT_EQ(run.report["event_counts"]["epoch"], 400);
  EXPECT_EQ(run.report["event_counts"]["exhausted"], 800);
  EXPECT_EQ(run.report["event_counts"]["short"], 1200);
  const auto events = lines_of(read_text(folder.path("events")));
  std::size_t counted = 0;
  for (const auto& [name, count] : run.report["event_counts"].items()) counted += count.get<std::size_t>();
  EXPECT_EQ(events.size(), counted);
  for (const Json& event : events) expect_in_table(event);
}

TEST(Events, QuietPrintsNothingOnSuccess) {
  const Folder folder;
  const Outcome outcome =
      run_muster({"run", folder.write("job.toml", linear_job()), "--quiet", "--replicas", "1"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "");
}

TEST(Events, ProgressIsALinePerEpochAndASummary) {
  const Folder folder;
  const Outcome outcome = run_muster({"run", folder.write("job.toml", linear_job())});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("epoch 1  steps 16"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("epoch 2  steps 32"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("test loss"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("weights_sha256"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find('\r'), std::string::npos) << "plain lines where there is no terminal";
}

// An epoch of 16 steps is over before anybody is told of a step of it: its line is made of its own figures.
TEST(Events, LineOfAnEpochTellsOfThisEpoch) {
  const Folder folder;
  const std::string file = folder.path("report.json");
  const Outcome outcome = run_muster({"run", folder.write("job.toml", linear_job()), "--report", file});
  const Json report = read_json(file);
  const auto epochs = events_named(report, "epoch");
  ASSERT_EQ(epochs.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(epochs[i]["loss"], report["training"][i]["loss"]);
    EXPECT_EQ(epochs[i]["samples"], 1237 * (i + 1));
    char begin[64];
    std::snprintf(begin, sizeof begin, "epoch %zu  steps %zu  loss %.4f  ", i + 1, 16 * (i + 1),
                  epochs[i]["loss"].get<double>());
    EXPECT_NE(outcome.err.find(begin), std::string::npos) << begin << "\n" << outcome.err;
  }
  EXPECT_NE(epochs[0]["loss"], epochs[1]["loss"]);
  EXPECT_EQ(outcome.err.find(" 0 samples/s"), std::string::npos) << outcome.err;
}

TEST(Events, ReportIsWrittenOnRefusal) {
  const Folder folder;
  const std::string file = folder.path("report.json");
  const Outcome outcome = run_muster(
      {"run", folder.write("job.toml", linear_job()), "--report", file, "--set", "data.skip=99999"});
  EXPECT_EQ(outcome.code, 2);
  const Json report = read_json(file);
  ASSERT_TRUE(report.is_object());
  EXPECT_EQ(report["outcome"], "failed");
  EXPECT_NE(report["reason"].get<std::string>().find("data.skip"), std::string::npos);
}

TEST(Events, CheckpointIsToldAndWritten) {
  const Folder folder;
  const RunResult run = run_linear(folder, {"--set", "checkpoint.folder=" + folder.path("weights")});
  EXPECT_EQ(run.outcome.code, 0);
  const auto told = events_named(run.report, "checkpoint");
  ASSERT_EQ(told.size(), 2u);  // after the first epoch, and at the end
  EXPECT_EQ(told[0]["step"], 16);
  EXPECT_EQ(told[1]["step"], 32);
  EXPECT_EQ(told[1]["path"], run.report["checkpoint"]);
  const std::string path = told[1]["path"].get<std::string>();
  std::uintmax_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder.path("weights"))) {
    const std::string stem = path.substr(0, path.size() - std::string(".safetensors").size());
    if (file.path().string().rfind(stem, 0) == 0) bytes += file.file_size();
  }
  EXPECT_EQ(bytes, told[1]["bytes"].get<std::uintmax_t>());
}

TEST(Events, MoreReplicasThanCoresIsNoticed) {
  const Folder folder;
  std::string text = linear_job();
  text.replace(text.find("shards = 5"), 10, "shards = 64");
  const Outcome outcome = run_muster({"plan", folder.write("job.toml", text), "--replicas", "64"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find("64 compute, 0 loader"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("notice: 64 replicas share"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace muster::events_test
