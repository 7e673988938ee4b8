#include "actors/replica/states/step/last_record.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

LastRecord::Record record_of(RoundKind kind, double weight) {
  auto record = std::make_shared<RoundRecord>();
  record->kind = kind;
  record->weight = weight;
  return record;
}

TEST(LastRecord, AStepCanBeGivenUntilItsMeanIsOverwritten) {
  LastRecord last;
  EXPECT_FALSE(last.whole()) << "there is none";
  last.take(record_of(RoundKind::train, 8), MeanIs::in_gradient);
  EXPECT_TRUE(last.is_step());
  EXPECT_TRUE(last.whole());
  last.mean_is_overwritten();
  EXPECT_FALSE(last.whole());
  EXPECT_TRUE(last.record());
  last.take(record_of(RoundKind::train, 8), MeanIs::in_mean);
  EXPECT_TRUE(last.whole());
  EXPECT_EQ(last.mean(), MeanIs::in_mean);
}

TEST(LastRecord, AMeanThatStaysInTheSumsCannotBeGiven) {
  LastRecord last;
  last.take(record_of(RoundKind::train, 8), MeanIs::in_sums);
  EXPECT_FALSE(last.whole());
}

TEST(LastRecord, WithoutAMeanNothingCanBeOverwritten) {
  LastRecord last;
  last.take(record_of(RoundKind::evaluate, 8), MeanIs::in_gradient);
  last.mean_is_overwritten();
  EXPECT_TRUE(last.whole()) << "an evaluation";
  last.take(record_of(RoundKind::train, 0), MeanIs::in_gradient);
  last.mean_is_overwritten();
  EXPECT_TRUE(last.whole()) << "a step without samples";
}

TEST(LastRecord, WhatIsTakenBackIsNotGiven) {
  LastRecord last;
  last.take(record_of(RoundKind::train, 8), MeanIs::in_gradient);
  last.forget();
  EXPECT_FALSE(last.record());
  EXPECT_FALSE(last.whole());
}

}  // namespace
}  // namespace muster
