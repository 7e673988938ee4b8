#include <gtest/gtest.h>

#include "actors/pipeline/stream.hpp"
#include "tests/unit/actors/loading/sources.hpp"

namespace muster {
namespace {

using pipeline_test::CountingGenerators;
using pipeline_test::job_error_key;
using pipeline_test::numbers;
using Values = std::vector<std::int64_t>;

struct Stage {
  explicit Stage(std::vector<int> lengths, Remainder remainder = Remainder::keep) {
    job.train.shards = static_cast<std::uint32_t>(lengths.size());
    job.train.batch = 3;
    job.train.remainder = remainder;
    auto owned = std::make_unique<CountingGenerators>(std::move(lengths));
    source = owned.get();
    data.train = std::move(owned);
  }
  Job job;
  Dataset data;
  CountingGenerators* source = nullptr;
};

TEST(GeneratorFeed, ReadsShardsOfUnequalLength) {
  Stage stage({7, 3, 0});
  BatchReader reader(stage.job, stage.data);
  EXPECT_EQ(reader.samples(), std::nullopt);
  EXPECT_EQ(reader.steps_per_epoch(), std::nullopt);
  EXPECT_EQ(reader.unit(), "sample");
  EXPECT_EQ(reader.micro_batch_bytes_max(), 24u);
  EXPECT_EQ(numbers(*reader.read(0, {Mode::train, 1, 0}).batch), (Values{1'000'000, 1'000'001, 1'000'002}));
  EXPECT_EQ(numbers(*reader.read(1, {Mode::train, 1, 0}).batch), (Values{1'001'000, 1'001'001, 1'001'002}));
  EXPECT_TRUE(reader.read(2, {Mode::train, 1, 0}).ended);
  EXPECT_EQ(numbers(*reader.read(0, {Mode::train, 1, 1}).batch), (Values{1'000'003, 1'000'004, 1'000'005}));
  EXPECT_TRUE(reader.read(1, {Mode::train, 1, 1}).ended);
  const Item last = reader.read(0, {Mode::train, 1, 2});
  EXPECT_EQ(numbers(*last.batch), (Values{1'000'006}));
  EXPECT_EQ(last.range, (Range{6, 1}));
  EXPECT_TRUE(reader.read(0, {Mode::train, 1, 3}).ended);
  EXPECT_EQ(stage.source->opened, 3);
}

TEST(GeneratorFeed, FollowsTheCursorAnywhere) {
  Stage stage({20});
  BatchReader straight(stage.job, stage.data);
  std::vector<Values> expected;
  for (std::uint64_t step = 0; step < 7; ++step) {
    expected.push_back(numbers(*straight.read(0, {Mode::train, 2, step}).batch));
  }
  BatchReader reader(stage.job, stage.data);
  for (const std::uint64_t step : {5, 2, 3, 3, 0, 6}) {
    EXPECT_EQ(numbers(*reader.read(0, {Mode::train, 2, step}).batch), expected[step]) << step;
  }
  EXPECT_TRUE(reader.read(0, {Mode::train, 2, 1'000'000'000'000}).ended);
  EXPECT_TRUE(reader.read(0, {Mode::train, 2, 7}).ended);
  EXPECT_EQ(numbers(*reader.read(0, {Mode::train, 2, 6}).batch), expected[6]);
  EXPECT_EQ(numbers(*reader.read(0, {Mode::train, 1, 0}).batch)[0], 1'000'000);
}

TEST(GeneratorFeed, DropsAShortLastBatchAndTellsSo) {
  Stage stage({4, 6}, Remainder::drop);
  BatchReader reader(stage.job, stage.data);
  EXPECT_FALSE(reader.read(0, {Mode::train, 1, 0}).ended);
  for (int again = 0; again < 2; ++again) {
    const Item item = reader.read(0, {Mode::train, 1, 1});
    EXPECT_TRUE(item.ended);
    EXPECT_EQ(item.batch, nullptr);
    EXPECT_EQ(item.range, (Range{3, 1}));
  }
  EXPECT_EQ(reader.read(0, {Mode::train, 1, 2}).range, Range{});
  EXPECT_FALSE(reader.read(1, {Mode::train, 1, 1}).ended);
  EXPECT_EQ(reader.read(1, {Mode::train, 1, 2}).range, Range{});
}

TEST(GeneratorFeed, PadsAShortLastBatch) {
  Stage stage({4}, Remainder::pad);
  BatchReader reader(stage.job, stage.data);
  reader.read(0, {Mode::train, 1, 0});
  const Item item = reader.read(0, {Mode::train, 1, 1});
  EXPECT_EQ(item.batch->rows, 1u);
  EXPECT_EQ(item.batch->padding, 2u);
  EXPECT_EQ(numbers(*item.batch), (Values{1'000'003, 0, 0}));
}

TEST(GeneratorFeed, GivesTheSameBatchAfterAReadError) {
  Stage stage({20});
  BatchReader reader(stage.job, stage.data);
  reader.read(0, {Mode::train, 1, 0});
  stage.source->fail_after = 1;
  EXPECT_THROW(reader.read(0, {Mode::train, 1, 1}), Error);
  EXPECT_EQ(numbers(*reader.read(0, {Mode::train, 1, 1}).batch), (Values{1'000'003, 1'000'004, 1'000'005}));
}

TEST(GeneratorFeed, RefusesShuffleSkipAndTake) {
  Stage stage({4});
  Job job = stage.job;
  job.data.shuffle = true;
  EXPECT_EQ(job_error_key([&] { BatchReader(job, stage.data); }), "data.shuffle");
  job = stage.job;
  job.data.skip = 1;
  EXPECT_EQ(job_error_key([&] { BatchReader(job, stage.data); }), "data.skip");
  job = stage.job;
  job.data.take = 1;
  EXPECT_EQ(job_error_key([&] { BatchReader(job, stage.data); }), "data.take");
}

TEST(GeneratorFeed, IsRefusedAsATestSource) {
  Stage stage({4});
  stage.data.test = std::make_unique<CountingGenerators>(std::vector<int>{1});
  EXPECT_EQ(job_error_key([&] { BatchReader(stage.job, stage.data); }), "data.source");
}

}  // namespace
}  // namespace muster
