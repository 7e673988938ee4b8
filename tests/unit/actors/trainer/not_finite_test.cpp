#include "actors/trainer/not_finite.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "muster/job.hpp"
#include "transport/collective/rounds/round.hpp"

namespace muster {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Layout layout() {
  Layout layout;
  layout.add_parameter("first.weight", {2, 3});
  layout.add_parameter("first.bias", {2});
  layout.add_buffer("running_mean", {4});
  return layout;
}

RoundRecord record_of(std::uint64_t step) {
  RoundRecord record;
  record.epoch = 3;
  record.step = step;
  record.metrics = {{0, 0, 1.5, 0, 4}, {1, 0, 2.5, 0, 4}};
  return record;
}

Event event_of(const std::vector<float>& gradient, const RoundRecord& record, const Job& job = {}) {
  const FiniteCheck check(make_host_device());
  return not_finite_event(check.look(gradient, record.metrics), record, job, layout());
}

TEST(NotFinite, NothingIsFoundWhereAllIsFinite) {
  const FiniteCheck check(make_host_device());
  std::vector<float> gradient(12, std::numeric_limits<float>::max());
  gradient[3] = -0.0f;
  gradient[4] = std::numeric_limits<float>::denorm_min();
  EXPECT_FALSE(check.look(gradient, record_of(7).metrics));
}

TEST(NotFinite, TheFirstElementIsNamedByItsParameter) {
  for (const auto& [at, name, element] : std::vector<std::tuple<std::size_t, std::string, std::int64_t>>{
           {0, "first.weight", 0}, {5, "first.weight", 5}, {6, "first.bias", 0}, {11, "running_mean", 3}}) {
    std::vector<float> gradient(12, 1.0f);
    gradient[at] = kInf;
    if (at < 11) gradient[11] = kNaN;
    const Event event = event_of(gradient, record_of(7));
    EXPECT_EQ(event.text("parameter"), name);
    EXPECT_EQ(event.integer("element"), element);
    EXPECT_EQ(event.text("value"), "Inf");
    EXPECT_EQ(event.text("what"), "mean gradient");
    EXPECT_EQ(event.integer("step"), 7);
    EXPECT_EQ(event.integer("epoch"), 3);
    EXPECT_FALSE(event.has("shard"));
  }
}

TEST(NotFinite, ALossAloneIsNamedByItsShard) {
  RoundRecord record = record_of(2);
  record.metrics[1].loss = -std::numeric_limits<double>::infinity();
  const Event event = event_of(std::vector<float>(12), record);
  EXPECT_EQ(event.text("what"), "loss");
  EXPECT_EQ(event.integer("shard"), 1);
  EXPECT_EQ(event.text("value"), "-Inf");
  EXPECT_FALSE(event.has("parameter"));
  EXPECT_EQ(not_finite_reason(event).find("the loss of shard 1 of step 2 is -Inf; the weights are still"), 0u)
      << not_finite_reason(event);
}

TEST(NotFinite, TheReasonSaysWhatWhereAndWhatMayHelp) {
  RoundRecord record = record_of(2);
  record.metrics[0].loss = std::numeric_limits<double>::quiet_NaN();
  std::vector<float> gradient(12);
  gradient[7] = kNaN;
  EXPECT_EQ(not_finite_reason(event_of(gradient, record)),
            "element 1 of first.bias in the mean gradient of step 2 is NaN, and the loss of shard 0 is not "
            "finite either; the weights are still those of the step before: a new run with a lower "
            "train.optimizer.learning_rate, or its warm_up, may help; so may a look at the samples");
}

TEST(NotFinite, TheHintIsForTheJobAtHand) {
  std::vector<float> gradient(12);
  gradient[0] = kNaN;
  const auto hint = [&](std::uint64_t step, const Job& job) {
    return event_of(gradient, record_of(step), job).text("hint");
  };
  Job job;
  EXPECT_NE(hint(1, job).find("samples"), std::string::npos);
  EXPECT_NE(hint(2, job).find("learning_rate"), std::string::npos);
  job.train.wire = GradientWire::float16;
  EXPECT_NE(hint(2, job).find("train.wire_exponent"), std::string::npos);
}

TEST(NotFinite, ItSaysWhetherTheRunEndsAndWhatWasLookedAt) {
  std::vector<float> gradient(12);
  gradient[0] = kNaN;
  Job job;
  EXPECT_EQ(event_of(gradient, record_of(2), job).integer("stops"), 1);
  job.train.not_finite = OnNotFinite::report;
  job.train.shard_optimizer = true;
  const Event event = event_of(gradient, record_of(2), job);
  EXPECT_EQ(event.integer("stops"), 0);
  EXPECT_EQ(event.text("what"), "new state");
}

}  // namespace
}  // namespace muster
