#include "actors/coordinator/states/training_rate.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr TrainingRate::Time kTrainingRateStart{1h};

Progress progress(std::uint64_t step, std::uint64_t samples) {
  Progress progress;
  progress.step = step;
  progress.samples = samples;
  return progress;
}

TEST(TrainingRate, IsThatBetweenTheFirstReportAndTheLast) {
  TrainingRate rate;
  EXPECT_EQ(rate.last(), nullptr);
  EXPECT_EQ(rate.rate(), 0);
  rate.heard(progress(1, 100), kTrainingRateStart);
  EXPECT_EQ(rate.rate(), 0) << "one report says nothing of the time";
  rate.heard(progress(5, 500), kTrainingRateStart + 2s);
  EXPECT_EQ(rate.rate(), 200);
  ASSERT_NE(rate.last(), nullptr);
  EXPECT_EQ(rate.last()->step, 5u);
  rate.heard(progress(1, 50), kTrainingRateStart + 3s);
  EXPECT_EQ(rate.rate(), 0) << "the run went back behind the first report";
}

TEST(TrainingRate, ARunThatHasNotTrainedHasNone) {
  TrainingRate rate;
  EXPECT_FALSE(rate.sum_up(0, 0, 0));
  rate.begin(kTrainingRateStart);
  rate.end_at_latest(kTrainingRateStart);
  EXPECT_FALSE(rate.sum_up(0, 0, 0));
}

TEST(TrainingRate, EvaluationIsNoTraining) {
  TrainingRate rate;
  rate.begin(kTrainingRateStart);
  rate.end(kTrainingRateStart + 10s);
  const auto summary = rate.sum_up(800, 0, 2);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->seconds, 8);
  EXPECT_EQ(summary->samples_per_second, 100);
  const auto only_evaluated = rate.sum_up(800, 0, 10);
  ASSERT_TRUE(only_evaluated);
  EXPECT_EQ(only_evaluated->samples_per_second, 0);
}

TEST(TrainingRate, SamplesOfTheCheckpointDoNotCount) {
  TrainingRate rate;
  rate.begin(kTrainingRateStart);
  rate.end(kTrainingRateStart + 10s);
  EXPECT_EQ(rate.sum_up(800, 300, 0)->samples_per_second, 50);
  EXPECT_EQ(rate.sum_up(200, 300, 0)->samples_per_second, 0) << "the run went back behind it";
}

TEST(TrainingRate, ARestartedCoordinatorKnowsWhatItHasHeard) {
  TrainingRate rate;
  rate.begin(kTrainingRateStart);
  rate.restarted();
  rate.heard(progress(7, 700), kTrainingRateStart + 6s);
  rate.end(kTrainingRateStart + 10s);
  const auto summary = rate.sum_up(900, 0, 0);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->seconds, 4);
  EXPECT_EQ(summary->samples_per_second, 50);
}

TEST(TrainingRate, ARestartedCoordinatorThatHeardNothingCountsFromItsStart) {
  TrainingRate rate;
  rate.restarted();
  rate.begin(kTrainingRateStart);
  rate.end(kTrainingRateStart + 10s);
  EXPECT_EQ(rate.sum_up(100, 0, 0)->seconds, 10);
}

TEST(TrainingRate, EndsWithTheLastReplicaThatIsDone) {
  TrainingRate rate;
  rate.begin(kTrainingRateStart);
  rate.end(kTrainingRateStart + 1s);
  rate.end(kTrainingRateStart + 2s);
  rate.end_at_latest(kTrainingRateStart + 3s);
  EXPECT_EQ(rate.sum_up(100, 0, 0)->seconds, 2);
}

}  // namespace
}  // namespace muster
