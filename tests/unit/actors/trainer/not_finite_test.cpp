#include "actors/trainer/not_finite.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "actors/pipeline/permutation.hpp"
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
  const auto device = make_host_device();
  CauseFinder finder;
  finder.look(*device, {}, record.metrics);
  return not_finite_event(FiniteCheck(device).look(gradient, record.metrics), finder.cause(), record, job,
                          layout(), {});
}

// Two fields of float32, of 2 numbers and 1.
std::shared_ptr<Batch> finite_samples(std::uint32_t rows, std::uint32_t padding = 0) {
  auto batch = std::make_shared<Batch>(Batch{rows, padding, {}});
  for (const std::int64_t count : {2, 1}) {
    const std::int64_t all = rows + padding;
    batch->tensors.push_back({DType::float32,
                              {all, count},
                              std::vector<std::byte>(static_cast<std::size_t>(all * count) * sizeof(float))});
  }
  return batch;
}

Item item_of_shard(std::uint32_t shard, std::uint64_t first, std::shared_ptr<const Batch> batch) {
  return {{Mode::train, 3, 1}, shard, false, {first, batch->rows}, std::move(batch)};
}

ShardReport report_of_item(const Item& item) {
  ShardReport report;
  report.shard = item.shard;
  report.rows = item.batch->rows;
  report.first = item.range.first;
  report.count = item.range.count;
  return report;
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
            "finite either; the weights are still those of the step before: the samples are finite; neither "
            "the weights nor the loss had grown: the model itself makes it. Usual causes are log(0), a "
            "division by 0, samples that are far too large, and a label that the model has no class for");
}

TEST(NotFinite, ALossAloneSaysWhatMayHelp) {
  RoundRecord record = record_of(2);
  record.metrics[0].loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(
      event_of(std::vector<float>(12), record).text("hint"),
      "a new run with a lower train.optimizer.learning_rate, or its warm_up, may help; so may a look at "
      "the samples");
}

// Each replica knows it from the record, whoever has the shard.
TEST(NotFinite, TheSampleThatHasItIsNamedByItsPlaceInTheSource) {
  const auto batch = finite_samples(4);
  batch->tensors[1].as<float>()[2] = -kInf;
  RoundRecord record = record_of(2);
  record.shards = {report_of_item(item_of_shard(0, 8, finite_samples(4))),
                   report_of_item(item_of_shard(1, 8, batch))};
  record.metrics[1].loss = std::numeric_limits<double>::quiet_NaN();
  record.metrics[1].bad_sample = bad_sample_of(*batch, record.metrics[1].loss);
  Job job;
  job.train.shards = 2;
  job.seed = 5;
  job.data.source = "csv";
  job.data.skip = 1000;
  DataFacts facts;
  facts.samples = 50;
  const auto event = [&] {
    const auto device = make_host_device();
    CauseFinder finder;
    finder.look(*device, {}, record.metrics);
    return not_finite_event(FiniteCheck(device).look(std::vector<float>(12, kNaN), record.metrics),
                            finder.cause(), record, job, layout(), facts);
  };
  const std::uint64_t position = (8 + 2) * 2 + 1;  // of shard 1's sample 10
  const std::uint64_t index = 1000 + Permutation(50, 5, 3).at(position);
  EXPECT_EQ(event().text("hint"), "the data have it: read(" + std::to_string(index) +
                                      ") of source 'csv' gives -Inf in field 1; correct that sample, or "
                                      "leave it out: a lower learning rate does not help");
  EXPECT_EQ(event().integer("sample"), static_cast<std::int64_t>(index));
  EXPECT_EQ(event().integer("field"), 1);
  EXPECT_NE(not_finite_reason(event()).find("the data have it: read("), std::string::npos);
  job.data.shuffle = false;
  EXPECT_EQ(event().integer("sample"), static_cast<std::int64_t>(1000 + position));
  facts.unit_is_batch = true;
  EXPECT_NE(event().text("hint").find("row 2 of batch(1017) of source 'csv'"), std::string::npos)
      << event().text("hint");
  facts.samples = -1;
  EXPECT_NE(event().text("hint").find("sample 10 (from 0) of the generator of shard 1 of source 'csv'"),
            std::string::npos)
      << event().text("hint");
}

TEST(NotFinite, SamplesAreLookedAtOnlyWhereTheLossIsNotFinite) {
  const auto batch = finite_samples(3, 1);
  EXPECT_EQ(bad_sample_of(*batch, kNaN), 0U);
  batch->tensors[0].as<float>()[7] = kNaN;
  EXPECT_EQ(bad_sample_of(*batch, kNaN), 0U) << "padding does not count";
  batch->tensors[0].as<float>()[5] = kNaN;
  EXPECT_EQ(bad_sample_of(*batch, 1.0), 0U);
  EXPECT_NE(bad_sample_of(*batch, kInf), 0U);
}

// A loss may be finite though the gradient is not.
TEST(NotFinite, AReplicaLooksAtItsOwnSamplesWhereAllLossesAreFinite) {
  const auto batch = finite_samples(4);
  const Item good = item_of_shard(0, 8, finite_samples(4)), bad = item_of_shard(1, 8, batch),
             older = item_of_shard(1, 4, batch);
  batch->tensors[0].as<float>()[3] = kInf;
  RoundRecord record = record_of(2);
  record.shards = {report_of_item(good), report_of_item(bad)};
  NotFiniteCause found;
  look_at_samples({good}, record, found);
  EXPECT_FALSE(found.sample || found.samples_are_finite) << "another replica has the other shard";
  look_at_samples({good, older}, record, found);
  EXPECT_FALSE(found.sample || found.samples_are_finite) << "of another step";
  look_at_samples({good, bad}, record, found);
  ASSERT_TRUE(found.sample);
  EXPECT_EQ(*found.sample, (BadSample{1, 1, 0, kInf}));
  NotFiniteCause other;
  record.shards[1] = report_of_item(item_of_shard(1, 4, finite_samples(4)));
  look_at_samples({good, item_of_shard(1, 4, finite_samples(4))}, record, other);
  EXPECT_TRUE(other.samples_are_finite);
}

TEST(NotFinite, TheLearningRateIsNamedWhereWeightsOrLossHadGrown) {
  const auto device = make_host_device();
  const FiniteCheck check(device);
  CauseFinder finder;
  finder.begin(*device, std::vector<float>(8, 0.5F));
  RoundRecord record = record_of(1);
  record.weight = 8;
  const auto hint_at = [&](const std::vector<float>& weights) {
    const std::vector<ShardMetrics> metrics{{0, 0, kNaN, 0, 4}};
    finder.look(*device, weights, metrics);
    return not_finite_event(check.look(std::vector<float>(12, kNaN), metrics), finder.cause(), record_of(9),
                            {}, layout(), {})
        .text("hint");
  };
  finder.applied(record);
  EXPECT_NE(hint_at(std::vector<float>(8, 0.6F)).find("the model itself makes it"), std::string::npos);
  EXPECT_EQ(
      hint_at(std::vector<float>(8, 600.0F)),
      "the samples are finite; the weights (their root mean square) had grown 1.2e+03-fold before it: a "
      "new run with a lower train.optimizer.learning_rate, or its warm_up, may help");
  record.metrics = {{0, 0, 80, 0, 4}, {1, 0, 80, 0, 4}};
  finder.applied(record);
  EXPECT_NE(hint_at(std::vector<float>(8, 0.6F)).find("the loss had grown 40-fold"), std::string::npos)
      << hint_at(std::vector<float>(8, 0.6F));
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
