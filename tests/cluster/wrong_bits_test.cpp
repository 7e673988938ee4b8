// A bit flips in the memory of one replica, in the middle of a run: the others find it, all go back before
// it, and the weights at the end are those of a run in which nothing has flipped.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "tests/cluster/muster_process.hpp"
#include "tests/cluster/paced_job.hpp"

namespace {

using namespace muster::cluster_test;

struct Trained {
  Outcome outcome;
  Json report;
  Json corrupt;
  std::string suspect;  ///< a checkpoint that was set aside
};

std::string set_aside_in(const std::string& folder) {
  for (const auto& file : std::filesystem::directory_iterator(folder))
    if (file.path().string().ends_with(".suspect")) return file.path();
  return {};
}

/// With three replicas; once epoch 5 has ended, bits of replica 1 flip, if any.
Trained run_with(const std::string& flips) {
  const Folder folder;
  Arguments arguments{"run",        folder.write("job.toml", paced_job({.model = "flipping"})),
                      "--replicas", "3",
                      "--events",   "-",
                      "--report",   folder.path("report.json"),
                      "--set",      "model.fail=" + folder.path("flip"),
                      "--set",      "model.flips=" + (flips.empty() ? std::string("weights") : flips)};
  const Arguments sets = paced_sets(folder);
  arguments.insert(arguments.end(), sets.begin(), sets.end());
  MusterProcess process(arguments, {}, "muster_paced");
  const std::map<int, pid_t> pids = process.replicas(3);
  EXPECT_EQ(pids.size(), 3u);
  Trained run;
  if (!flips.empty()) {
    process.event("epoch", [](const Json& event) { return event["epoch"] >= 5; });
    folder.write("flip." + std::to_string(pids.at(1)), "");
    // Before that one, perhaps, that nobody knows yet who is wrong.
    run.corrupt = process.event("corrupt", [](const Json& event) { return event.contains("replica"); });
  }
  folder.write("gate", "");
  run.outcome = process.wait();
  EXPECT_TRUE(process.none_left_within(std::chrono::seconds(2)));
  run.report = read_json(folder.path("report.json"));
  run.suspect = set_aside_in(folder.path("kept"));
  return run;
}

class WrongBits : public ::testing::TestWithParam<const char*> {};

TEST_P(WrongBits, AreFoundAndAllGoBackBeforeThem) {
  const Trained good = run_with("");
  ASSERT_EQ(good.outcome.code, 0) << good.outcome.err;
  const Trained run = run_with(GetParam());
  ASSERT_EQ(run.outcome.code, 0) << run.outcome.err;
  ASSERT_TRUE(run.corrupt.is_object());
  EXPECT_EQ(run.corrupt["what"], GetParam());
  EXPECT_EQ(run.corrupt["replica"], 1);
  EXPECT_EQ(run.report["event_counts"]["lost"], 1);
  EXPECT_EQ(run.report["event_counts"]["went_back"], 1);
  EXPECT_EQ(run.report["weights_sha256"], good.report["weights_sha256"]);
  EXPECT_EQ(run.report["ledger"], good.report["ledger"]);
  EXPECT_EQ(run.suspect, "") << "its step was done again";
}

INSTANTIATE_TEST_SUITE_P(Flipped, WrongBits, ::testing::Values("weights", "gradients"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
