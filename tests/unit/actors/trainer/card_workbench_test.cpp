// A replica's work on a card gives the bits of the host, and reads nothing before it is there: on a card that
// does everything as late as it may.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "actors/checkpoint/snapshot.hpp"
#include "actors/trainer/card_sums.hpp"
#include "actors/trainer/probe.hpp"
#include "actors/trainer/workbench.hpp"
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
  job.model.name = "on_card";
  job.train.shards = kShards;
  job.train.batch = 3;
  job.train.optimizer.kind = kind;
  if (kind == OptimizerKind::sgd) job.train.optimizer.momentum = 0.9;
  return job;
}

std::shared_ptr<Workbench> bench_on(const Job& job, std::shared_ptr<LateDevice> card) {
  Registry registry = builtin_registry();
  registry.add_model("on_card", linear_options(), testing::make_late_linear);
  const std::shared_ptr<ComputeDevice> device = card ? card : make_host_device();
  return make_workbench(job, registry, device, true, true);
}

// One replica's shards [begin, end) of a job of five, so that its cover has several nodes.
struct Trained {
  std::vector<std::vector<float>> sums;     // of each step, node after node
  std::vector<std::vector<float>> buckets;  // as they were said
  std::vector<float> state;
  std::string probe;
};

void train_step(Workbench& bench, Accumulator& accumulator, std::uint64_t step, Trained& trained) {
  std::vector<Item> items;
  for (std::uint32_t shard = 1; shard < kShards; ++shard)
    items.push_back(bench.reader->read(shard, Cursor{Phase::train, 1, step}));
  const auto hear = [&](const std::vector<NodeValue>& sums, ElementRange bucket) {
    for (const NodeValue& sum : sums)
      trained.buckets.push_back({sum.values + bucket.begin, sum.values + bucket.end});
  };
  const Computed computed = compute_step(bench, accumulator, items, step, 0, {16, hear});
  trained.sums.emplace_back();
  for (const NodeValue& sum : computed.nodes)
    trained.sums.back().insert(trained.sums.back().end(), sum.values, sum.values + bench.state.size());
  std::copy_n(computed.nodes.back().values, bench.gradient.size(), bench.gradient.begin());
  RoundRecord record;
  record.step = step;
  apply_step(bench, record);
  std::ranges::fill(bench.gradient, std::numeric_limits<float>::quiet_NaN());  // as the next round would
}

Trained train(const std::shared_ptr<Workbench>& bench, std::uint64_t first, std::uint64_t last) {
  Trained trained;
  trained.probe = probe(*bench);
  const auto accumulator = make_accumulator(*bench, 1, kShards);
  for (std::uint64_t step = first; step <= last; ++step) train_step(*bench, *accumulator, step, trained);
  trained.state = host_state(*bench);
  return trained;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  });
}

void expect_same(const Trained& host, const Trained& card) {
  EXPECT_EQ(host.probe, card.probe);
  ASSERT_EQ(host.sums.size(), card.sums.size());
  for (std::size_t i = 0; i < host.sums.size(); ++i) EXPECT_TRUE(same_bits(host.sums[i], card.sums[i])) << i;
  ASSERT_EQ(host.buckets.size(), card.buckets.size());
  for (std::size_t i = 0; i < host.buckets.size(); ++i)
    EXPECT_TRUE(same_bits(host.buckets[i], card.buckets[i])) << i;
  EXPECT_TRUE(same_bits(host.state, card.state));
}

class OnACard : public ::testing::TestWithParam<OptimizerKind> {};

TEST_P(OnACard, StepsHaveTheBitsOfTheHost) {
  const Job job = job_with(GetParam());
  const Trained host = train(bench_on(job, nullptr), 1, 6);
  EXPECT_GT(host.buckets.size(), 0u);
  const auto card = std::make_shared<LateDevice>();
  expect_same(host, train(bench_on(job, card), 1, 6));
}

// The update of a card is recorded, and clips the mean where it lies; the host's is clipped in chunks.
TEST_P(OnACard, ClippedStepsHaveTheBitsOfTheHost) {
  Job job = job_with(GetParam());
  const Trained whole = train(bench_on(job, nullptr), 1, 6);
  job.train.clip_norm = 0.01;
  const auto host = bench_on(job, nullptr), card = bench_on(job, std::make_shared<LateDevice>());
  const Trained clipped = train(host, 1, 6);
  expect_same(clipped, train(card, 1, 6));
  EXPECT_FALSE(same_bits(clipped.state, whole.state));
  EXPECT_GT(host->clipping->norm(), 0.01);
  EXPECT_EQ(host->clipping->norm(), card->clipping->norm());
  job.train.clip_norm = 1e6;  // which no step reaches
  EXPECT_TRUE(same_bits(train(bench_on(job, std::make_shared<LateDevice>()), 1, 6).state, whole.state));
}

TEST_P(OnACard, ASnapshotGoesToTheHostAndBack) {
  Job job = job_with(GetParam());
  job.train.clip_norm = 0.01;
  const auto begun = bench_on(job, std::make_shared<LateDevice>());
  train(begun, 1, 3);
  Snapshot snapshot;
  copy_into(snapshot, *begun);
  snapshot.place.steps = 3;
  const auto card = bench_on(job, std::make_shared<LateDevice>());
  restore(*card, snapshot);
  const auto host = bench_on(job, nullptr);
  restore(*host, snapshot);
  EXPECT_TRUE(same_bits(train(host, 4, 6).state, train(card, 4, 6).state));
}

TEST_P(OnACard, GoesBackToTheBeginning) {
  const Job job = job_with(GetParam());
  const auto card = std::make_shared<LateDevice>();
  const auto bench = bench_on(job, card);
  const auto accumulator = make_accumulator(*bench, 1, kShards);
  Trained before;
  const auto memory = card->pinned().taken_bytes;
  train_step(*bench, *accumulator, 1, before);
  const std::vector<float> state = host_state(*bench);
  go_back_to(*bench, Snapshot{});
  EXPECT_FALSE(same_bits(state, host_state(*bench)));
  Trained again;
  train_step(*bench, *accumulator, 1, again);
  EXPECT_TRUE(same_bits(before.sums[0], again.sums[0]));
  EXPECT_TRUE(same_bits(state, host_state(*bench)));  // by an optimiser of its own, which has begun anew
  EXPECT_GT(card->pinned().taken_bytes, memory);
}

// So that other processes of the host read the sums where the card has copied them, and the card the mean
// where they have written it.
TEST_P(OnACard, TheHostsCopiesAreLendableWhereTheCardCanPinThem) {
  Job job = job_with(GetParam());
  for (Options* options : {&job.model.options, &job.data.options})
    (*options)["inputs"] = Option(std::int64_t{5000});  // large enough to be lent
  const Trained host = train(bench_on(job, nullptr), 1, 3);
  for (const bool refuses : {false, true}) {
    const auto card = std::make_shared<LateDevice>();
    card->refuses_to_pin = refuses;
    {
      const auto bench = bench_on(job, card);
      EXPECT_EQ(static_cast<bool>(bench->gradient_pin), !refuses);
      EXPECT_EQ(bench->gradient_pin.refused(), refuses ? "it refuses to" : "");
      expect_same(host, train(bench, 1, 3));
      const auto sums = make_card_sums(card, bench->state.size());
      float* const sum = sums->make();
      const std::span<const float> copy(sums->readable(sum), bench->state.size());
      EXPECT_EQ(shm::segment_of(std::as_bytes(copy)).has_value(), !refuses);
    }
    EXPECT_EQ(card->pinned().taken_bytes, 0u);
  }
}

// One replica with all shards: the sums stay on the card, for itself in a view of its own, or where others
// read them and write the mean; the mean comes to the host only where it is wanted.
TEST_P(OnACard, WhatNeedNotComeToTheHostStays) {
  const auto train_all = [&](const std::shared_ptr<Workbench>& bench, MeanIs mean, bool wanted = false) {
    bench->sums_on_cards = mean == MeanIs::in_mean;
    bench->accumulator = make_accumulator(*bench, 0, kShards);
    const std::span<float> result = bench->sums_on_cards ? bench->mean.span() : std::span(bench->gradient);
    for (std::uint64_t step = 1; step <= 6; ++step) {
      std::vector<Item> items;
      for (std::uint32_t shard = 0; shard < kShards; ++shard)
        items.push_back(bench->reader->read(shard, Cursor{Phase::train, 1, step}));
      if (step == 3) items[4].ended = true;
      Offering offering{16, nullptr, mean == MeanIs::in_sums};
      const Computed computed = compute_step(*bench, *bench->accumulator, items, step, 0, offering);
      EXPECT_EQ(computed.nodes.empty(), offering.stays);
      RoundRecord record;
      record.step = step;
      record.weight = 12;
      std::vector<float> made(bench->gradient.size());
      if (!offering.stays) {  // what the reduction makes of the cover's two nodes
        const float* const right = computed.nodes.size() > 1 ? computed.nodes[1].values : nullptr;
        for (std::size_t i = 0; i < made.size(); ++i) {
          const float left = computed.nodes[0].values[i];
          made[i] = (right != nullptr ? left + right[i] : left) / 12.0f;
        }
        std::ranges::copy(made, result.begin());
      }
      EXPECT_FALSE(apply_step(*bench, record, mean, wanted));
      if (wanted && mean == MeanIs::in_mean) EXPECT_TRUE(std::ranges::equal(bench->gradient, made));
      if (wanted) EXPECT_TRUE(std::ranges::none_of(bench->gradient, [](float v) { return v == 0; }));
      if (bench->sums_on_cards)  // as the next round may at once
        std::ranges::fill(result, std::numeric_limits<float>::quiet_NaN());
    }
    return host_state(*bench);
  };
  const Job job = job_with(GetParam());
  const std::vector<float> host = train_all(bench_on(job, nullptr), MeanIs::in_gradient);
  for (const MeanIs mean : {MeanIs::in_sums, MeanIs::in_mean}) {
    const auto card = std::make_shared<LateDevice>();
    const auto bench = bench_on(job, card);
    const auto pinned = card->pinned().taken_bytes;
    EXPECT_TRUE(same_bits(train_all(bench, mean), host));
    EXPECT_EQ(card->pinned().taken_bytes, pinned);  // no sum was on the host
    EXPECT_TRUE(same_bits(train_all(bench_on(job, std::make_shared<LateDevice>()), mean, true), host));
  }
}

// A mean that was left alone can be handed to others; after a transfer into it was abandoned it is another
// one, and the update follows it there.
TEST_P(OnACard, MeansOnTheCardComeToTheHostAndAreReplaced) {
  const Job job = job_with(GetParam());
  const auto train = [&](const std::shared_ptr<Workbench>& bench, bool replaces) {
    bench->sums_on_cards = bench->device->is_card();
    for (std::uint64_t step = 1; step <= 3; ++step) {
      const std::span<float> result = bench->sums_on_cards ? bench->mean.span() : std::span(bench->gradient);
      for (std::size_t i = 0; i < result.size(); ++i) result[i] = static_cast<float>(i + step) / 64;
      RoundRecord record;
      record.step = step;
      EXPECT_FALSE(apply_step(*bench, record, bench->sums_on_cards ? MeanIs::in_mean : MeanIs::in_gradient));
      if (!replaces) continue;
      mean_to_host(*bench);
      EXPECT_EQ(bench->gradient[3], static_cast<float>(3 + step) / 64);
      replace_result(*bench, true);
      EXPECT_NE(bench->mean.data(), result.data());
      std::ranges::fill(result, std::numeric_limits<float>::quiet_NaN());  // what was abandoned writes on
    }
    return host_state(*bench);
  };
  const std::vector<float> host = train(bench_on(job, nullptr), false);
  EXPECT_TRUE(same_bits(train(bench_on(job, std::make_shared<LateDevice>()), true), host));
}

// A step that has a number that is none is not applied, and where it is applied all the same, it is said.
TEST_P(OnACard, WhatIsNotFiniteIsFoundBeforeItIsApplied) {
  for (const bool on_card : {false, true}) {
    Job job = job_with(GetParam());
    const auto bench = bench_on(job, on_card ? std::make_shared<LateDevice>() : nullptr);
    train(bench, 1, 1);
    const std::vector<float> before = host_state(*bench);
    RoundRecord record;
    record.epoch = 1;
    record.step = 2;
    record.metrics = {{0, 0, 1.5, 0, 3}, {2, 0, std::numeric_limits<double>::infinity(), 0, 3}};
    std::ranges::fill(bench->gradient, 0.5f);
    bench->gradient[61] = std::numeric_limits<float>::quiet_NaN();
    bench->gradient[60] = -std::numeric_limits<float>::infinity();
    const NotFinite found = apply_step(*bench, record);
    EXPECT_EQ(found.element, 60u);
    EXPECT_EQ(found.value, -std::numeric_limits<double>::infinity());
    EXPECT_EQ(found.shard, 2u);
    EXPECT_TRUE(same_bits(host_state(*bench), before));
    EXPECT_EQ(bench->applied, 1u);
    bench->job.train.not_finite = OnNotFinite::report;
    EXPECT_EQ(apply_step(*bench, record).element, 60u);
    EXPECT_EQ(bench->applied, 2u);
    EXPECT_FALSE(std::isfinite(host_state(*bench)[60]));
  }
}

TEST_P(OnACard, MemoryIsGivenBack) {
  const auto card = std::make_shared<LateDevice>();
  train(bench_on(job_with(GetParam()), card), 1, 2);
  EXPECT_EQ(card->memory().taken_bytes, 0u);
  EXPECT_EQ(card->pinned().taken_bytes, 0u);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, OnACard, ::testing::Values(OptimizerKind::sgd, OptimizerKind::adamw),
                         [](const auto& optimizer) {
                           return optimizer.param == OptimizerKind::sgd ? "Sgd" : "AdamW";
                         });

TEST(OnACardOnly, WhatTheHostAloneDoesIsRefusedWithItsKey) {
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
