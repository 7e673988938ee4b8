// A run that is hit: some of its replicas are killed, stopped or sent away at once, when an epoch has ended.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/cluster/muster_process.hpp"

namespace muster::cluster_test {

struct Trained {
  Outcome outcome;
  Json report;
  int count(const std::string& event) const { return report["event_counts"].value(event, 0); }
  /// All events of this name, as they came.
  std::vector<Json> told(const std::string& name) const {
    std::vector<Json> events;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) {
      Json event = Json::parse(line, nullptr, false);
      if (event.is_object() && event["event"] == name) events.push_back(std::move(event));
    }
    return events;
  }
};

/// What is done at once to some replicas, when the epoch has ended.
struct Blow {
  int after_epoch;
  std::vector<int> replicas;
  int signal;
};

/// `cluster.detect.patience` of such a run.
inline constexpr int kPatienceMs = 4000;

/// With four replicas; `overrides`: table.key=value.
inline Trained run_with(const std::string& job, const std::vector<std::string>& overrides,
                        const std::vector<Blow>& blows, const Environment& environment = {}) {
  const Folder folder;
  Arguments arguments{"run",        folder.write("job.toml", job),
                      "--replicas", "4",
                      "--events",   "-",
                      "--report",   folder.path("report.json"),
                      "--set",      "cluster.on_loss=continue",
                      "--set",      "cluster.detect.patience=" + std::to_string(kPatienceMs) + "ms"};
  for (const std::string& override : overrides) arguments.insert(arguments.end(), {"--set", override});
  MusterProcess process(arguments, environment);
  std::map<int, pid_t> pids;
  for (int slot = 0; slot < 4; ++slot) {
    const Json joined = process.event("joined");
    EXPECT_TRUE(joined.is_object());
    if (!joined.is_object()) return {process.wait(), {}};
    pids[joined["replica"].get<int>()] = joined["pid"].get<pid_t>();
  }
  for (const Blow& blow : blows) {
    EXPECT_TRUE(process.event("epoch", [&](const Json& event) { return event["epoch"] >= blow.after_epoch; })
                    .is_object());
    for (const int replica : blow.replicas) EXPECT_EQ(::kill(pids[replica], blow.signal), 0);
  }
  Trained run;
  run.outcome = process.wait();
  EXPECT_TRUE(process.none_left_within(std::chrono::seconds(2)));
  run.report = read_json(folder.path("report.json"));
  return run;
}

inline void expect_same_outcome(const Trained& run, const Trained& undisturbed) {
  ASSERT_EQ(run.outcome.code, 0) << run.outcome.err;
  ASSERT_EQ(undisturbed.outcome.code, 0) << undisturbed.outcome.err;
  EXPECT_EQ(run.report["weights_sha256"], undisturbed.report["weights_sha256"]);
  EXPECT_EQ(run.report["steps"], undisturbed.report["steps"]);
  EXPECT_EQ(run.report["ledger"], undisturbed.report["ledger"]);
}

}  // namespace muster::cluster_test
