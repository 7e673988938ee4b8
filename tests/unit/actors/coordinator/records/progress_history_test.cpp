#include "actors/coordinator/records/progress_history.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using std::chrono::milliseconds;

Job job_with(const ProgressEvery& every) {
  Job job;
  job.report.progress_every = every;
  job.train.optimizer.learning_rate.initial = 0.5;
  job.train.optimizer.learning_rate.warm_up = 10;
  return job;
}

Progress at(std::uint64_t step, std::uint32_t took = 1) {
  Progress progress;
  progress.took = took;
  progress.epoch = 1;
  progress.step = step;
  progress.samples = 100 * step;
  progress.loss = 2;
  progress.gradient_norm = 7;
  return progress;
}

std::vector<std::uint64_t> steps_of(const ProgressHistory& history) {
  std::vector<std::uint64_t> steps;
  for (const ProgressRow& row : history.rows()) steps.push_back(row.step);
  return steps;
}

TEST(ProgressHistory, TellsEachSoManySteps) {
  ProgressHistory history(job_with({10, {}}));
  for (std::uint64_t step = 1; step <= 40; ++step) {
    const auto row = history.take(at(step), milliseconds(10 * step));
    EXPECT_EQ(row.has_value(), step % 10 == 0) << step;
  }
  EXPECT_EQ(steps_of(history), (std::vector<std::uint64_t>{10, 20, 30, 40}));
  const ProgressRow& row = history.rows()[1];
  EXPECT_EQ(row.samples, 2000u);
  EXPECT_DOUBLE_EQ(row.samples_per_second, 10'000);
  EXPECT_DOUBLE_EQ(history.rows()[0].samples_per_second, 0) << "since when is not known";
  EXPECT_DOUBLE_EQ(row.gradient_norm, 0) << "nothing is clipped";
}

TEST(ProgressHistory, TellsOfAStepOnce) {
  ProgressHistory history(job_with({1, {}}));
  EXPECT_TRUE(history.take(at(3), milliseconds(1)));
  EXPECT_FALSE(history.take(at(3), milliseconds(2)));
}

TEST(ProgressHistory, AReplicaThatIsBehindTellsNothingNew) {
  ProgressHistory history(job_with({1, {}}));
  EXPECT_TRUE(history.take(at(2), milliseconds(1)));
  EXPECT_TRUE(history.take(at(3), milliseconds(2)));
  EXPECT_FALSE(history.take(at(2), milliseconds(3)));
  EXPECT_TRUE(history.take(at(2, 2), milliseconds(4))) << "all have gone back, in the next view";
}

TEST(ProgressHistory, TellsByTime) {
  ProgressHistory history(job_with({0, milliseconds(1000)}));
  for (std::uint64_t step = 1; step <= 20; ++step) history.take(at(step), milliseconds(300 * step));
  EXPECT_EQ(steps_of(history), (std::vector<std::uint64_t>{4, 8, 12, 16, 20}));
  ProgressHistory off(job_with({0, {}}));
  EXPECT_FALSE(off.take(at(1), std::chrono::hours(1)));
}

TEST(ProgressHistory, HasTheLearningRateAndTheNormOfTheStep) {
  Job job = job_with({1, {}});
  job.train.clip_norm = 1;
  ProgressHistory history(job);
  EXPECT_DOUBLE_EQ(history.take(at(5), milliseconds(1))->learning_rate, 0.25) << "half of the warm-up";
  const ProgressRow row = *history.take(at(50), milliseconds(2));
  EXPECT_DOUBLE_EQ(row.learning_rate, 0.5);
  EXPECT_DOUBLE_EQ(row.gradient_norm, 7);
  EXPECT_EQ(event_of(row).number("gradient_norm"), 7);
  EXPECT_EQ(event_of(row).integer("step"), 50);
}

TEST(ProgressHistory, StepsThatAreDoneAgainReplaceThoseOfBefore) {
  ProgressHistory history(job_with({10, {}}));
  for (const std::uint64_t step : {10, 20, 30}) history.take(at(step), milliseconds(step));
  for (const std::uint64_t step : {12, 20}) history.take(at(step, 2), milliseconds(step));
  EXPECT_EQ(steps_of(history), (std::vector<std::uint64_t>{10, 12, 20}));
}

TEST(ProgressHistory, KeepsNoMoreThanItsBoundEvenlySpread) {
  ProgressHistory history(job_with({1, {}}));
  for (std::uint64_t step = 1; step <= 10'000; ++step) history.take(at(step), milliseconds(step));
  const auto steps = steps_of(history);
  EXPECT_LT(steps.size(), ProgressRows::kMax);
  EXPECT_GE(steps.size(), ProgressRows::kMax / 2);
  EXPECT_EQ(steps.front(), 1u);
  for (std::size_t i = 2; i < steps.size(); ++i) EXPECT_EQ(steps[i] - steps[i - 1], 16u) << i;
}

}  // namespace
}  // namespace muster
