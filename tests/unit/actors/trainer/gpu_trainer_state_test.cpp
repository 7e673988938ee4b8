// A replica's work on a GPU gives the bits of the host, and reads nothing before it is there: on a GPU that
// does everything as late as it may.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "actors/checkpoint/snapshot.hpp"
#include "actors/trainer/gpu_sums.hpp"
#include "actors/trainer/probe.hpp"
#include "actors/trainer/trainer_state.hpp"
#include "muster/error.hpp"
#include "tests/support/late_linear.hpp"
#include "tests/support/linear_job.hpp"
#include "transport/shared_memory/segment.hpp"

namespace muster {
namespace {

using testing::LateDevice;

constexpr std::uint32_t kShards = 5;

Job job_with(OptimizerKind kind) {
  Job job = testing::linear_job({.samples = 200, .inputs = 30, .outputs = 2});
  job.model.name = "on_gpu";
  job.train.shards = kShards;
  job.train.batch = 3;
  job.train.optimizer.kind = kind;
  if (kind == OptimizerKind::sgd) job.train.optimizer.momentum = 0.9;
  return job;
}

std::shared_ptr<TrainerState> bench_on(const Job& job, std::shared_ptr<LateDevice> gpu) {
  Registry registry = builtin_registry();
  registry.add_model("on_gpu", linear_options(), testing::make_late_linear);
  const std::shared_ptr<ComputeDevice> device = gpu ? gpu : make_host_device();
  return make_trainer_state(job, registry, device, true, true);
}

// One replica's shards [begin, end) of a job of five, so that its cover has several nodes.
struct Trained {
  std::vector<std::vector<float>> sums;     // of each step, node after node
  std::vector<std::vector<float>> buckets;  // as they were said
  std::vector<float> state;
  std::string probe;
};

void train_step(TrainerState& trainer, Accumulator& accumulator, std::uint64_t step, Trained& trained) {
  std::vector<Item> items;
  for (std::uint32_t shard = 1; shard < kShards; ++shard)
    items.push_back(trainer.data.reader().read(shard, Cursor{Mode::train, 1, step}));
  const auto hear = [&](const std::vector<NodeValue>& sums, ElementRange bucket) {
    for (const NodeValue& sum : sums)
      trained.buckets.push_back({sum.values + bucket.begin, sum.values + bucket.end});
  };
  const Computed computed = compute_step(trainer, accumulator, items, step, 0, {16, hear});
  trained.sums.emplace_back();
  for (const NodeValue& sum : computed.nodes)
    trained.sums.back().insert(trained.sums.back().end(), sum.values, sum.values + trainer.state.size());
  std::copy_n(computed.nodes.back().values, trainer.gradient.host().size(), trainer.gradient.host().begin());
  RoundRecord record;
  record.step = step;
  apply_step(trainer, record);
  std::ranges::fill(trainer.gradient.host(),
                    std::numeric_limits<float>::quiet_NaN());  // as the next round would
}

Trained train(const std::shared_ptr<TrainerState>& trainer, std::uint64_t first, std::uint64_t last) {
  Trained trained;
  trained.probe = probe(*trainer);
  const auto accumulator = make_accumulator(*trainer, 1, kShards);
  for (std::uint64_t step = first; step <= last; ++step) train_step(*trainer, *accumulator, step, trained);
  trained.state = host_state(*trainer);
  return trained;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  });
}

void expect_same(const Trained& host, const Trained& gpu) {
  EXPECT_EQ(host.probe, gpu.probe);
  ASSERT_EQ(host.sums.size(), gpu.sums.size());
  for (std::size_t i = 0; i < host.sums.size(); ++i) EXPECT_TRUE(same_bits(host.sums[i], gpu.sums[i])) << i;
  ASSERT_EQ(host.buckets.size(), gpu.buckets.size());
  for (std::size_t i = 0; i < host.buckets.size(); ++i)
    EXPECT_TRUE(same_bits(host.buckets[i], gpu.buckets[i])) << i;
  EXPECT_TRUE(same_bits(host.state, gpu.state));
}

class OnAGpu : public ::testing::TestWithParam<OptimizerKind> {};

TEST_P(OnAGpu, StepsHaveTheBitsOfTheHost) {
  const Job job = job_with(GetParam());
  const Trained host = train(bench_on(job, nullptr), 1, 6);
  EXPECT_GT(host.buckets.size(), 0u);
  const auto gpu = std::make_shared<LateDevice>();
  expect_same(host, train(bench_on(job, gpu), 1, 6));
}

// The update of a GPU is recorded, and clips the mean where it lies; the host's is clipped in chunks.
TEST_P(OnAGpu, ClippedStepsHaveTheBitsOfTheHost) {
  Job job = job_with(GetParam());
  const Trained whole = train(bench_on(job, nullptr), 1, 6);
  job.train.clip_norm = 0.01;
  const auto host = bench_on(job, nullptr), gpu = bench_on(job, std::make_shared<LateDevice>());
  const Trained clipped = train(host, 1, 6);
  expect_same(clipped, train(gpu, 1, 6));
  EXPECT_FALSE(same_bits(clipped.state, whole.state));
  EXPECT_GT(host->clipping->norm(), 0.01);
  EXPECT_EQ(host->clipping->norm(), gpu->clipping->norm());
  job.train.clip_norm = 1e6;  // which no step reaches
  EXPECT_TRUE(same_bits(train(bench_on(job, std::make_shared<LateDevice>()), 1, 6).state, whole.state));
}

TEST_P(OnAGpu, ASnapshotGoesToTheHostAndBack) {
  Job job = job_with(GetParam());
  job.train.clip_norm = 0.01;
  const auto begun = bench_on(job, std::make_shared<LateDevice>());
  train(begun, 1, 3);
  Snapshot snapshot;
  copy_into(snapshot, *begun);
  snapshot.place.steps = 3;
  const auto gpu = bench_on(job, std::make_shared<LateDevice>());
  restore(*gpu, snapshot);
  const auto host = bench_on(job, nullptr);
  restore(*host, snapshot);
  EXPECT_TRUE(same_bits(train(host, 4, 6).state, train(gpu, 4, 6).state));
}

TEST_P(OnAGpu, GoesBackToTheBeginning) {
  const Job job = job_with(GetParam());
  const auto gpu = std::make_shared<LateDevice>();
  const auto trainer = bench_on(job, gpu);
  const auto accumulator = make_accumulator(*trainer, 1, kShards);
  Trained before;
  const auto memory = gpu->pinned().taken_bytes;
  train_step(*trainer, *accumulator, 1, before);
  const std::vector<float> state = host_state(*trainer);
  go_back_to(*trainer, Snapshot{});
  EXPECT_FALSE(same_bits(state, host_state(*trainer)));
  Trained again;
  train_step(*trainer, *accumulator, 1, again);
  EXPECT_TRUE(same_bits(before.sums[0], again.sums[0]));
  EXPECT_TRUE(same_bits(state, host_state(*trainer)));  // by an optimizer of its own, which has begun anew
  EXPECT_GT(gpu->pinned().taken_bytes, memory);
}

// So that other processes of the host read the sums where the GPU has copied them, and the GPU the mean
// where they have written it.
TEST_P(OnAGpu, TheHostsCopiesAreBorrowableWhereTheGpuCanPinThem) {
  Job job = job_with(GetParam());
  for (Options* options : {&job.model.options, &job.data.options})
    (*options)["inputs"] = Option(std::int64_t{5000});  // large enough to be borrowed
  const Trained host = train(bench_on(job, nullptr), 1, 3);
  for (const bool refuses : {false, true}) {
    const auto gpu = std::make_shared<LateDevice>();
    gpu->refuses_to_pin = refuses;
    {
      const auto trainer = bench_on(job, gpu);
      EXPECT_EQ(trainer->gradient.is_pinned(), !refuses);
      EXPECT_EQ(trainer->gradient.why_not_pinned(), refuses ? "it refuses to" : "");
      expect_same(host, train(trainer, 1, 3));
      const auto sums = make_gpu_sums(gpu, trainer->state.size());
      float* const sum = sums->make();
      const std::span<const float> copy(sums->readable(sum), trainer->state.size());
      EXPECT_EQ(shm::segment_of(std::as_bytes(copy)).has_value(), !refuses);
    }
    EXPECT_EQ(gpu->pinned().taken_bytes, 0u);
  }
}

// One replica with all shards: the sums stay on the GPU, for itself in a view of its own, or where others
// read them and write the mean; the mean comes to the host only where it is wanted.
TEST_P(OnAGpu, WhatNeedNotComeToTheHostStays) {
  const auto train_all = [&](const std::shared_ptr<TrainerState>& trainer, MeanIs mean, bool wanted = false) {
    trainer->gradient.enter_view(mean == MeanIs::in_mean);
    trainer->accumulator = make_accumulator(*trainer, 0, kShards);
    const std::span<float> result = trainer->gradient.sums_on_gpus() ? trainer->gradient.gpu().span()
                                                                     : std::span(trainer->gradient.host());
    for (std::uint64_t step = 1; step <= 6; ++step) {
      std::vector<Item> items;
      for (std::uint32_t shard = 0; shard < kShards; ++shard)
        items.push_back(trainer->data.reader().read(shard, Cursor{Mode::train, 1, step}));
      if (step == 3) items[4].ended = true;
      Offering offering{16, nullptr, mean == MeanIs::in_sums};
      const Computed computed = compute_step(*trainer, *trainer->accumulator, items, step, 0, offering);
      EXPECT_EQ(computed.nodes.empty(), offering.stays);
      RoundRecord record;
      record.step = step;
      record.weight = 12;
      std::vector<float> made(trainer->gradient.host().size());
      if (!offering.stays) {  // what the reduction makes of the cover's two nodes
        const float* const right = computed.nodes.size() > 1 ? computed.nodes[1].values : nullptr;
        for (std::size_t i = 0; i < made.size(); ++i) {
          const float left = computed.nodes[0].values[i];
          made[i] = (right != nullptr ? left + right[i] : left) / 12.0f;
        }
        std::ranges::copy(made, result.begin());
      }
      EXPECT_FALSE(apply_step(*trainer, record, mean, wanted));
      if (wanted && mean == MeanIs::in_mean) {
        EXPECT_TRUE(std::ranges::equal(trainer->gradient.host(), made));
      }
      if (wanted) {
        EXPECT_TRUE(std::ranges::none_of(trainer->gradient.host(), [](float v) { return v == 0; }));
      }
      if (trainer->gradient.sums_on_gpus())  // as the next round may at once
        std::ranges::fill(result, std::numeric_limits<float>::quiet_NaN());
    }
    return host_state(*trainer);
  };
  const Job job = job_with(GetParam());
  const std::vector<float> host = train_all(bench_on(job, nullptr), MeanIs::in_gradient);
  for (const MeanIs mean : {MeanIs::in_sums, MeanIs::in_mean}) {
    const auto gpu = std::make_shared<LateDevice>();
    const auto trainer = bench_on(job, gpu);
    const auto pinned = gpu->pinned().taken_bytes;
    EXPECT_TRUE(same_bits(train_all(trainer, mean), host));
    EXPECT_EQ(gpu->pinned().taken_bytes, pinned);  // no sum was on the host
    EXPECT_TRUE(same_bits(train_all(bench_on(job, std::make_shared<LateDevice>()), mean, true), host));
  }
}

// A mean that was left alone can be handed to others; after a transfer into it was abandoned it is another
// one, and the update follows it there.
TEST_P(OnAGpu, MeansOnTheGpuComeToTheHostAndAreReplaced) {
  const Job job = job_with(GetParam());
  const auto train = [&](const std::shared_ptr<TrainerState>& trainer, bool replaces) {
    trainer->gradient.enter_view(trainer->device->is_gpu());
    for (std::uint64_t step = 1; step <= 3; ++step) {
      const std::span<float> result = trainer->gradient.sums_on_gpus() ? trainer->gradient.gpu().span()
                                                                       : std::span(trainer->gradient.host());
      for (std::size_t i = 0; i < result.size(); ++i) result[i] = static_cast<float>(i + step) / 64;
      RoundRecord record;
      record.step = step;
      EXPECT_FALSE(apply_step(*trainer, record,
                              trainer->gradient.sums_on_gpus() ? MeanIs::in_mean : MeanIs::in_gradient));
      if (!replaces) continue;
      mean_to_host(*trainer);
      EXPECT_EQ(trainer->gradient.host()[3], static_cast<float>(3 + step) / 64);
      replace_result(*trainer, true);
      EXPECT_NE(trainer->gradient.gpu().data(), result.data());
      std::ranges::fill(result, std::numeric_limits<float>::quiet_NaN());  // what was abandoned writes on
    }
    return host_state(*trainer);
  };
  const std::vector<float> host = train(bench_on(job, nullptr), false);
  EXPECT_TRUE(same_bits(train(bench_on(job, std::make_shared<LateDevice>()), true), host));
}

// A step that has a NaN is not applied, and where it is applied all the same, it is said.
TEST_P(OnAGpu, WhatIsNotFiniteIsFoundBeforeItIsApplied) {
  for (const bool on_gpu : {false, true}) {
    Job job = job_with(GetParam());
    const auto trainer = bench_on(job, on_gpu ? std::make_shared<LateDevice>() : nullptr);
    train(trainer, 1, 1);
    const std::vector<float> before = host_state(*trainer);
    RoundRecord record;
    record.epoch = 1;
    record.step = 2;
    record.metrics = {{0, 0, 1.5, 0, 3}, {2, 0, std::numeric_limits<double>::infinity(), 0, 3}};
    std::ranges::fill(trainer->gradient.host(), 0.5f);
    trainer->gradient.host()[61] = std::numeric_limits<float>::quiet_NaN();
    trainer->gradient.host()[60] = -std::numeric_limits<float>::infinity();
    const NotFinite found = apply_step(*trainer, record);
    EXPECT_EQ(found.element, 60u);
    EXPECT_EQ(found.value, -std::numeric_limits<double>::infinity());
    EXPECT_EQ(found.shard, 2u);
    EXPECT_TRUE(same_bits(host_state(*trainer), before));
    EXPECT_EQ(trainer->applied, 1u);
    trainer->job.train.not_finite = OnNotFinite::report;
    EXPECT_EQ(apply_step(*trainer, record).element, 60u);
    EXPECT_EQ(trainer->applied, 2u);
    EXPECT_FALSE(std::isfinite(host_state(*trainer)[60]));
  }
}

TEST_P(OnAGpu, MemoryIsGivenBack) {
  const auto gpu = std::make_shared<LateDevice>();
  train(bench_on(job_with(GetParam()), gpu), 1, 2);
  EXPECT_EQ(gpu->memory().taken_bytes, 0u);
  EXPECT_EQ(gpu->pinned().taken_bytes, 0u);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, OnAGpu, ::testing::Values(OptimizerKind::sgd, OptimizerKind::adamw),
                         [](const auto& optimizer) {
                           return optimizer.param == OptimizerKind::sgd ? "Sgd" : "AdamW";
                         });

TEST(OnAGpuOnly, WhatTheHostAloneDoesIsRefusedWithItsKey) {
  const auto refused = [](const std::function<void(Job&)>& ask) -> std::string {
    Job job = job_with(OptimizerKind::sgd);
    ask(job);
    try {
      bench_on(job, std::make_shared<LateDevice>());
    } catch (const JobError& error) {
      return error.key();
    }
    return "";
  };
  EXPECT_EQ(refused([](Job&) {}), "");
  EXPECT_EQ(refused([](Job& job) { job.train.shard_optimizer = true; }), "train.shard_optimizer");
  EXPECT_EQ(refused([](Job& job) { job.train.compression.kind = CompressionKind::top_k; }),
            "train.compression");
  EXPECT_EQ(refused([](Job& job) { job.train.wire = GradientWire::bfloat16; }), "train.wire");
}

}  // namespace
}  // namespace muster
