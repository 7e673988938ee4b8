#include "actors/run/progress_file.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <memory>

#include "actors/events/event.hpp"
#include "tests/support/temporary_folder.hpp"

namespace muster {
namespace {

using std::chrono::seconds;
using testing::TemporaryFolder;

// One coordinator after the other, with the same folder.
class ProgressFileTest : public ::testing::Test {
 protected:
  std::unique_ptr<ProgressFile> life(int begins_after_s) {
    return std::make_unique<ProgressFile>(path_, ProgressFile::Time(seconds(1'000'000 + begins_after_s)),
                                          [this](const std::string& why) { failures_.push_back(why); });
  }

  static void step(ProgressFile& file, std::uint64_t step, double time_ms, double loss = 2) {
    ProgressRow row;
    row.step = step;
    row.loss = loss;
    Event event = event_of(row);
    event.time_ms = time_ms;
    file.report(event);
  }

  static void goes_on(ProgressFile& file) {
    file.report(make_event(
        "restarted", {{"term", std::int64_t{2}}, {"view", std::int64_t{1}}, {"members", std::int64_t{2}}}));
  }

  static std::vector<std::uint64_t> steps_of(const std::vector<ProgressRow>& rows) {
    std::vector<std::uint64_t> steps;
    for (const ProgressRow& row : rows) steps.push_back(row.step);
    return steps;
  }

  const TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "job.progress.jsonl";
  std::vector<std::string> failures_;
};

TEST_F(ProgressFileTest, ARunThatGoesOnHasTheRowsOfBefore) {
  const auto first = life(0);
  step(*first, 10, 1000);
  step(*first, 20, 2000, 1.5);
  const auto second = life(60);
  goes_on(*second);
  step(*second, 30, 500);
  ProgressRow now;
  now.step = 30;
  now.time_ms = 500;
  const auto rows = second->all({now}, 35);
  ASSERT_EQ(steps_of(rows), (std::vector<std::uint64_t>{10, 20, 30}));
  EXPECT_NEAR(rows[0].time_ms, -59'000, 1e-3);
  EXPECT_NEAR(rows[1].time_ms, -58'000, 1e-3);
  EXPECT_EQ(rows[1].loss, 1.5);
  EXPECT_EQ(rows[2].time_ms, 500);
  const auto third = life(120);
  goes_on(*third);
  EXPECT_EQ(steps_of(third->all({}, 35)), (std::vector<std::uint64_t>{10, 20, 30}));
}

TEST_F(ProgressFileTest, StepsThatAreDoneAgainOrWereNeverKeptGo) {
  const auto first = life(0);
  for (const std::uint64_t each : {10, 20, 30}) step(*first, each, 1);
  const auto second = life(60);
  goes_on(*second);
  EXPECT_EQ(steps_of(second->all({}, 20)), (std::vector<std::uint64_t>{10, 20})) << "it failed at step 20";
  ProgressRow again;
  again.step = 20;
  EXPECT_EQ(steps_of(second->all({again}, 25)), (std::vector<std::uint64_t>{10, 20}));
}

TEST_F(ProgressFileTest, ARunThatBeginsAnewHasNone) {
  const auto first = life(0);
  step(*first, 10, 1);
  const auto second = life(60);
  EXPECT_TRUE(second->all({}, 100).empty());
  step(*second, 5, 1);
  const auto third = life(120);
  goes_on(*third);
  EXPECT_EQ(steps_of(third->all({}, 100)), (std::vector<std::uint64_t>{5}));
}

TEST_F(ProgressFileTest, ALineThatACrashCutOffIsPassedOver) {
  const auto first = life(0);
  step(*first, 10, 1);
  std::ofstream(path_, std::ios::app) << "{\"unix_ms\":12";
  const auto second = life(60);
  goes_on(*second);
  step(*second, 20, 1);
  const auto third = life(120);
  goes_on(*third);
  EXPECT_EQ(steps_of(third->all({}, 100)), (std::vector<std::uint64_t>{10, 20}));
}

TEST_F(ProgressFileTest, ALossThatIsNoNumberIsReadAgain) {
  const auto first = life(0);
  step(*first, 10, 1, std::numeric_limits<double>::quiet_NaN());
  const auto second = life(60);
  goes_on(*second);
  const auto rows = second->all({}, 100);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_TRUE(std::isnan(rows[0].loss));
}

TEST_F(ProgressFileTest, TheFileIsBounded) {
  const auto first = life(0);
  for (std::uint64_t each = 1; each <= 2 * ProgressFile::kLinesMax; ++each)
    step(*first, each, static_cast<double>(each));
  std::ifstream file(path_);
  std::size_t lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  EXPECT_LE(lines, ProgressFile::kLinesMax);
  const auto second = life(60);
  goes_on(*second);
  const auto rows = second->all({}, 2 * ProgressFile::kLinesMax);
  EXPECT_LE(rows.size(), ProgressRows::kMax);
  EXPECT_GE(rows.size(), ProgressRows::kMax / 3);
  EXPECT_LT(rows.front().step, 100u);
  EXPECT_GT(rows.back().step, 2 * ProgressFile::kLinesMax - 200);
}

TEST_F(ProgressFileTest, WhatCannotBeWrittenIsSaidOnce) {
  const auto file =
      std::make_unique<ProgressFile>(folder_.path() / "none" / "file", ProgressFile::Time(),
                                     [this](const std::string& why) { failures_.push_back(why); });
  for (const std::uint64_t each : {1, 2, 3}) step(*file, each, 1);
  ASSERT_EQ(failures_.size(), 1u);
  EXPECT_NE(failures_[0].find("none/file"), std::string::npos) << failures_[0];
}

}  // namespace
}  // namespace muster
