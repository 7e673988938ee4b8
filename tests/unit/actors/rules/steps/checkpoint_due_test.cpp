#include "actors/rules/steps/checkpoint_due.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(CheckpointDue, OnceForEachMultipleOfSteps) {
  const Interval every{3, Interval::Unit::steps};
  SchedulePoint before;
  std::vector<std::uint64_t> due;
  // Places without a step of their own (ends of epochs, evaluations) come between.
  for (const std::uint64_t steps : {0u, 1u, 2u, 3u, 3u, 3u, 4u, 5u, 6u, 7u}) {
    const SchedulePoint now{steps, steps / 4};
    if (checkpoint_due(every, before, now)) due.push_back(steps);
    before = now;
  }
  EXPECT_EQ(due, (std::vector<std::uint64_t>{3, 6}));
}

TEST(CheckpointDue, AfterAnEpochAndItsEvaluation) {
  const Interval every{2, Interval::Unit::epochs};
  const SchedulePoint begun = schedule_point({Mode::train, 2, 5}, 15);
  const SchedulePoint evaluating = schedule_point({Mode::evaluate, 2, 0}, 20);
  const SchedulePoint next = schedule_point({Mode::train, 3, 0}, 20);
  EXPECT_FALSE(checkpoint_due(every, begun, evaluating));
  EXPECT_TRUE(checkpoint_due(every, evaluating, next));
  EXPECT_FALSE(checkpoint_due(every, next, schedule_point({Mode::train, 3, 1}, 21)));
  EXPECT_FALSE(
      checkpoint_due(every, schedule_point({Mode::train, 1, 0}, 0), schedule_point({Mode::train, 2, 0}, 9)));
}

}  // namespace
}  // namespace muster
