// Indexed sources and ready-made batches through the reader; generators have a file of their own.
#include "actors/pipeline/stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

#include "actors/pipeline/permutation.hpp"
#include "muster/source.hpp"
#include "tests/unit/actors/loading/sources.hpp"

namespace muster {
namespace {

using pipeline_test::CountingSource;
using pipeline_test::job_error_key;
using pipeline_test::numbers;
using pipeline_test::ready;

Job small_job(std::uint32_t shards, std::uint32_t batch, Remainder remainder = Remainder::keep) {
  Job job;
  job.seed = 7;
  job.train.shards = shards;
  job.train.batch = batch;
  job.train.remainder = remainder;
  return job;
}

Dataset counting(std::uint64_t size, std::uint64_t test_size = 0) {
  Dataset data;
  data.train = std::make_unique<CountingSource>(size);
  if (test_size > 0) data.test = std::make_unique<CountingSource>(test_size);
  return data;
}

Dataset ready_made(std::vector<Batch> batches) {
  Dataset data;
  data.train = std::make_unique<VectorBatchSource>(std::move(batches));
  return data;
}

TEST(BatchReader, DealsThePermutationToShards) {
  const Job job = small_job(5, 16);
  Dataset data = counting(1237);
  BatchReader reader(job, data);
  const Permutation order(1237, 7, 3);
  EXPECT_EQ(reader.steps_per_epoch(), 16u);
  std::set<std::int64_t> seen;
  for (std::uint64_t step = 0; step < 16; ++step) {
    for (std::uint32_t shard = 0; shard < 5; ++shard) {
      const Item item = reader.read(shard, {Mode::train, 3, step});
      ASSERT_FALSE(item.ended);
      ASSERT_EQ(item.batch->rows, item.range.count);
      ASSERT_EQ(item.batch->padding, 0u);
      const auto values = numbers(*item.batch);
      ASSERT_EQ(values.size(), item.range.count);
      for (std::uint64_t row = 0; row < values.size(); ++row) {
        ASSERT_EQ(static_cast<std::uint64_t>(values[row]), order.at((step * 16 + row) * 5 + shard));
        ASSERT_TRUE(seen.insert(values[row]).second);
      }
    }
  }
  EXPECT_EQ(seen.size(), 1237u);
  EXPECT_TRUE(reader.read(0, {Mode::train, 3, 16}).ended);
  EXPECT_EQ(reader.unit(), "sample");
}

TEST(BatchReader, IsAFunctionOfShardAndCursor) {
  const Job job = small_job(3, 4);
  Dataset data = counting(50);
  BatchReader reader(job, data);
  BatchReader other(job, data);
  const Item first = reader.read(1, {Mode::train, 2, 1});
  const auto values = numbers(*first.batch);
  reader.read(2, {Mode::train, 1, 0});
  EXPECT_EQ(numbers(*reader.read(1, {Mode::train, 2, 1}).batch), values);
  EXPECT_EQ(numbers(*other.read(1, {Mode::train, 2, 1}).batch), values);
  EXPECT_EQ(numbers(*first.batch), values) << "a batch in use was overwritten";
  EXPECT_NE(numbers(*reader.read(1, {Mode::train, 3, 1}).batch), values);
}

TEST(BatchReader, UsesBuffersAgainOnceTheyAreFree) {
  const Job job = small_job(1, 4);
  Dataset data = counting(50);
  BatchReader reader(job, data);
  Item held = reader.read(0, {Mode::train, 1, 0});
  const auto* bytes = held.batch->tensors[0].bytes.data();
  EXPECT_NE(reader.read(0, {Mode::train, 1, 1}).batch->tensors[0].bytes.data(), bytes);
  held.batch.reset();
  EXPECT_EQ(reader.read(0, {Mode::train, 1, 2}).batch->tensors[0].bytes.data(), bytes);
}

TEST(BatchReader, LetsBatchesOutliveIt) {
  const Job job = small_job(1, 4);
  Dataset data = counting(8);
  Item item;
  {
    BatchReader reader(job, data);
    item = reader.read(0, {});
  }
  EXPECT_EQ(numbers(*item.batch).size(), 4u);
}

TEST(BatchReader, LetsAnotherThreadReleaseBatches) {
  const Job job = small_job(1, 4);
  Dataset data = counting(4000);
  BatchReader reader(job, data);
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<const Batch>> queue;
  std::int64_t sum = 0;
  std::thread consumer([&] {
    for (int step = 0; step < 1000; ++step) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return !queue.empty(); });
      const auto batch = std::move(queue.front());
      queue.pop_front();
      lock.unlock();
      for (const auto value : batch->tensors[0].as<std::int64_t>()) sum += value;
    }
  });
  for (std::uint64_t step = 0; step < 1000; ++step) {
    auto batch = reader.read(0, {Mode::train, 1, step}).batch;
    const std::lock_guard lock(mutex);
    queue.push_back(std::move(batch));
    changed.notify_one();
  }
  consumer.join();
  EXPECT_EQ(sum, 4000 * 3999 / 2);
}

TEST(BatchReader, CutsInSourceOrderBeforeTheShuffle) {
  Job job = small_job(2, 8);
  job.data.skip = 10;
  job.data.take = 20;
  Dataset data = counting(100);
  BatchReader reader(job, data);
  EXPECT_EQ(reader.samples(), 20u);
  EXPECT_FALSE(reader.cut()->exhausted);
  std::vector<std::int64_t> values;
  for (std::uint64_t step = 0; step < *reader.steps_per_epoch(); ++step) {
    for (std::uint32_t shard = 0; shard < 2; ++shard) {
      const auto part = numbers(*reader.read(shard, {Mode::train, 1, step}).batch);
      values.insert(values.end(), part.begin(), part.end());
    }
  }
  std::sort(values.begin(), values.end());
  ASSERT_EQ(values.size(), 20u);
  EXPECT_EQ(values.front(), 10);
  EXPECT_EQ(values.back(), 29);
}

TEST(BatchReader, TellsThatMoreWasTakenThanThereIs) {
  Job job = small_job(2, 8);
  job.data.take = 1000;
  Dataset data = counting(100);
  BatchReader reader(job, data);
  EXPECT_EQ(*reader.cut(), (Cut{0, 100, 1000, 100, true}));
  EXPECT_EQ(reader.samples(), 100u);
}

TEST(BatchReader, KeepsTheSourcesOrderWithoutShuffle) {
  Job job = small_job(2, 3);
  job.data.shuffle = false;
  Dataset data = counting(7);
  BatchReader reader(job, data);
  EXPECT_EQ(numbers(*reader.read(0, {Mode::train, 1, 0}).batch), (std::vector<std::int64_t>{0, 2, 4}));
  EXPECT_EQ(numbers(*reader.read(1, {Mode::train, 9, 0}).batch), (std::vector<std::int64_t>{1, 3, 5}));
  EXPECT_EQ(numbers(*reader.read(0, {Mode::train, 1, 1}).batch), (std::vector<std::int64_t>{6}));
  EXPECT_TRUE(reader.read(1, {Mode::train, 1, 1}).ended);
}

TEST(BatchReader, PadsWithZeroRows) {
  Job job = small_job(2, 3, Remainder::pad);
  job.data.shuffle = false;
  Dataset data = counting(7);
  BatchReader reader(job, data);
  reader.read(0, {Mode::train, 1, 0});
  const Item item = reader.read(0, {Mode::train, 1, 1});
  EXPECT_EQ(item.range, (Range{3, 1}));
  EXPECT_EQ(item.batch->rows, 1u);
  EXPECT_EQ(item.batch->padding, 2u);
  EXPECT_EQ(item.batch->tensors[0].shape, (std::vector<std::int64_t>{3}));
  EXPECT_EQ(numbers(*item.batch), (std::vector<std::int64_t>{6, 0, 0}));
}

TEST(BatchReader, DropsStepsThatAreNotFull) {
  Job job = small_job(2, 3, Remainder::drop);
  Dataset data = counting(11);
  BatchReader reader(job, data);
  EXPECT_EQ(reader.steps_per_epoch(), 1u);
  EXPECT_EQ(reader.dealing()->dropped(), 5u);
  EXPECT_TRUE(reader.read(0, {Mode::train, 1, 1}).ended);
}

TEST(BatchReader, EvaluatesTheWholeTestSetInOrder) {
  Job job = small_job(2, 4, Remainder::drop);
  job.data.skip = 1;
  job.data.take = 8;
  Dataset data = counting(50, 7);
  BatchReader reader(job, data);
  EXPECT_TRUE(reader.evaluates());
  EXPECT_EQ(reader.samples(Mode::evaluate), 7u);
  EXPECT_EQ(reader.steps_per_epoch(Mode::evaluate), 1u);
  EXPECT_EQ(numbers(*reader.read(0, {Mode::evaluate, 1, 0}).batch), (std::vector<std::int64_t>{0, 2, 4, 6}));
  EXPECT_EQ(numbers(*reader.read(1, {Mode::evaluate, 2, 0}).batch), (std::vector<std::int64_t>{1, 3, 5}));
  EXPECT_TRUE(reader.read(0, {Mode::evaluate, 1, 1}).ended);
}

TEST(BatchReader, HasNothingToEvaluateWithoutATestSet) {
  const Job job = small_job(2, 4);
  Dataset data = counting(50);
  BatchReader reader(job, data);
  EXPECT_FALSE(reader.evaluates());
  EXPECT_EQ(reader.steps_per_epoch(Mode::evaluate), 0u);
  EXPECT_TRUE(reader.read(1, {Mode::evaluate, 1, 0}).ended);
}

TEST(BatchReader, KnowsItsLargestMicroBatch) {
  Dataset data = counting(50, 7);
  EXPECT_EQ(BatchReader(small_job(2, 4), data).micro_batch_bytes_max(), 32u);
  EXPECT_EQ(BatchReader(small_job(2, 4'000'000'000u), data).micro_batch_bytes_max(), 200u);
  EXPECT_EQ(BatchReader(small_job(2, 100, Remainder::pad), data).micro_batch_bytes_max(), 800u);
}

TEST(BatchReader, RefusesAJobThatWouldTrainOnNothing) {
  Dataset data = counting(10);
  Job job = small_job(2, 4);
  job.data.skip = 10;
  EXPECT_EQ(job_error_key([&] { BatchReader(job, data); }), "data.skip");
  job.data.skip = 0;
  job.data.take = 0;
  EXPECT_EQ(job_error_key([&] { BatchReader(job, data); }), "data.take");
  job.data.take = 7;
  job.train.remainder = Remainder::drop;
  EXPECT_EQ(job_error_key([&] { BatchReader(job, data); }), "train.remainder");
  Dataset empty = counting(0);
  EXPECT_EQ(job_error_key([&] { BatchReader(small_job(2, 4), empty); }), "data.source");
  Dataset none;
  EXPECT_EQ(job_error_key([&] { BatchReader(small_job(2, 4), none); }), "data.source");
}

// Seven ready-made batches, two shards, a short seventh: four steps, shard 1 absent in the last.
TEST(BatchReader, HandsOutReadyMadeBatchesUnchanged) {
  Dataset data = ready_made(
      {ready({0, 0}), ready({1, 1}), ready({2, 2}), ready({3, 3}), ready({4, 4}), ready({5, 5}), ready({6})});
  BatchReader reader(small_job(2, 99), data);
  EXPECT_EQ(reader.unit(), "batch");
  EXPECT_EQ(reader.samples(), 7u);
  EXPECT_EQ(reader.steps_per_epoch(), 4u);
  for (std::uint64_t step = 0; step < 4; ++step) {
    for (std::uint32_t shard = 0; shard < 2; ++shard) {
      const Item item = reader.read(shard, {Mode::train, 5, step});
      const auto index = static_cast<std::int64_t>(step * 2 + shard);
      ASSERT_EQ(item.ended, index == 7);
      if (item.ended) continue;
      EXPECT_EQ(item.range, (Range{step, 1}));
      EXPECT_EQ(numbers(*item.batch), std::vector<std::int64_t>(index == 6 ? 1 : 2, index));
    }
  }
}

TEST(BatchReader, CountsReadyMadeBatchesInSkipTakeAndDrop) {
  Job job = small_job(2, 1, Remainder::drop);
  job.data.skip = 1;
  job.data.take = 10;
  Dataset data = ready_made({ready({0}), ready({1}), ready({2, 2, 2}), ready({3})});
  BatchReader reader(job, data);
  EXPECT_EQ(reader.steps_per_epoch(), 1u);
  EXPECT_EQ(reader.dealing()->dropped(), 1u);
  EXPECT_EQ(*reader.cut(), (Cut{1, 3, 10, 3, true}));
  EXPECT_EQ(reader.micro_batch_bytes_max(), 8u);
  EXPECT_EQ(numbers(*reader.read(1, {}).batch), (std::vector<std::int64_t>{2, 2, 2}));
  EXPECT_EQ(reader.micro_batch_bytes_max(), 24u);
}

TEST(BatchReader, RefusesWhatReadyMadeBatchesCannotDo) {
  Dataset data = ready_made({ready({0})});
  Job job = small_job(1, 1);
  job.data.shuffle = true;
  EXPECT_EQ(job_error_key([&] { BatchReader(job, data); }), "data.shuffle");
  EXPECT_EQ(job_error_key([&] { BatchReader(small_job(1, 1, Remainder::pad), data); }), "train.remainder");
}

TEST(BatchReader, RefusesBatchesThatAreNotWhatTheySay) {
  Batch lying = ready({1, 2});
  lying.rows = 3;
  Dataset data = ready_made({ready({0}), lying});
  BatchReader reader(small_job(1, 1), data);
  EXPECT_EQ(job_error_key([&] { reader.read(0, {Mode::train, 1, 1}); }), "data.source");
  Dataset hollow = ready_made({Batch{}});
  EXPECT_EQ(job_error_key([&] { BatchReader(small_job(1, 1), hollow); }), "data.source");
}

TEST(VectorBatchSource, HashesContent) {
  const VectorBatchSource one({ready({1, 2})});
  EXPECT_EQ(one.fingerprint(), VectorBatchSource({ready({1, 2})}).fingerprint());
  EXPECT_NE(one.fingerprint(), VectorBatchSource({ready({1, 3})}).fingerprint());
  EXPECT_NE(one.fingerprint(), VectorBatchSource({ready({1}), ready({2})}).fingerprint());
  EXPECT_EQ(one.fingerprint().size(), 64u);
  EXPECT_EQ(one.resident_bytes(), 16u);
}

}  // namespace
}  // namespace muster
