#include <gtest/gtest.h>

#include "actors/trainer/probe.hpp"
#include "actors/trainer/trainer_state.hpp"
#include "gpu/analytic/linear.hpp"
#include "muster/error.hpp"
#include "tests/support/linear_job.hpp"

namespace muster {
namespace {

Job small_job() {
  Job job = testing::linear_job({.samples = 40});
  job.model.name = "watched";
  job.train.shards = 4;
  job.train.batch = 3;
  return job;
}

constexpr std::uint32_t kRowsRefused = 2;

// The linear model; says each gradient aloud, refuses batches of two rows, and may compute other bits.
class WatchedModel : public Model {
 public:
  WatchedModel(const Options& options, const ModelContext& context, std::function<void()> on_gradient)
      : model_(make_linear(options, context)), on_gradient_(std::move(on_gradient)) {}
  const Layout& layout() const override { return model_->layout(); }
  void check_batch(const Batch& batch) const override {
    if (batch.rows == kRowsRefused) throw JobError("model.inputs", "not for this model");
  }
  void initialize(std::uint64_t seed, std::span<float> state) override { model_->initialize(seed, state); }
  Metrics gradient(std::span<const float> state, const Batch& batch, const StepKey& key,
                   std::span<float> gradient) override {
    on_gradient_();
    return model_->gradient(state, batch, key, gradient);
  }
  Metrics evaluate(std::span<const float> state, const Batch& batch) override {
    return model_->evaluate(state, batch);
  }

 private:
  std::unique_ptr<Model> model_;
  std::function<void()> on_gradient_;
};

std::shared_ptr<TrainerState> bench_of(const Job& job, std::function<void()> on_gradient) {
  Registry registry = builtin_registry();
  registry.add_model("watched", linear_options(), [=](const Options& options, const ModelContext& context) {
    return std::make_unique<WatchedModel>(options, context, on_gradient);
  });
  return make_trainer_state(job, registry, "cpu:0", true, true);
}

TEST(TrainerState, AStepOfAnEarlierTurnIsGivenUpBetweenTwoShards) {
  const Job job = small_job();
  int gradients = 0;
  TrainerState* trainer = nullptr;
  const auto made = bench_of(job, [&] {
    if (++gradients == 2) trainer->turn = 8;  // as another thread would
  });
  trainer = made.get();
  trainer->turn = 7;
  std::vector<Item> items;
  for (std::uint32_t shard = 0; shard < 4; ++shard)
    items.push_back(trainer->data.reader().read(shard, Cursor{}));
  Accumulator accumulator(4, 0, 4, trainer->state.size());
  compute_step(*trainer, accumulator, items, 1, 7);
  EXPECT_EQ(gradients, 2);
  const Computed again = compute_step(*trainer, accumulator, items, 1, 8);
  EXPECT_EQ(gradients, 6);
  EXPECT_EQ(again.nodes.size(), 1u);
}

// A source may hand over later what was not seen before the run.
TEST(TrainerState, EachMicroBatchIsShownToTheModelBeforeItIsComputed) {
  int gradients = 0;
  const auto trainer = bench_of(small_job(), [&] { ++gradients; });
  std::vector<Item> items;
  for (std::uint32_t shard = 0; shard < 4; ++shard)
    items.push_back(trainer->data.reader().read(shard, Cursor{}));
  auto odd = std::make_shared<Batch>(*items[2].batch);
  odd->rows = kRowsRefused;
  items[2].batch = odd;
  Accumulator accumulator(4, 0, 4, trainer->state.size());
  const auto expect_refused = [](const std::function<void()>& work) {
    try {
      work();
      ADD_FAILURE() << "it was computed";
    } catch (const ShardError& error) {
      EXPECT_EQ(error.shard, 2u);
      EXPECT_STREQ(error.what(), "not for this model");
    }
  };
  expect_refused([&] { compute_step(*trainer, accumulator, items, 1, 0); });
  EXPECT_EQ(gradients, 2);
  std::vector<ShardMetrics> sums;
  expect_refused([&] { compute_evaluation(*trainer, items, sums); });
}

// The last of the shards that have something says its buckets, and those in front of it are in them.
TEST(TrainerState, BucketsOfTheSumsAreSaidWhenTheyAreFinal) {
  Job job = small_job();
  job.model.options = {{"inputs", Option(std::int64_t{30})}, {"outputs", Option(std::int64_t{2})}};
  job.data.options["inputs"] = Option(std::int64_t{30});
  job.model.name = "linear";
  const auto trainer = make_trainer_state(job, builtin_registry(), "cpu:0", true, true);
  trainer->model->initialize(job.seed, trainer->state.span());
  ASSERT_EQ(trainer->state.size(), 62u);  // buckets of 16 floats: 4
  for (const bool last_has_ended : {false, true}) {
    std::vector<Item> items;
    for (std::uint32_t shard = 0; shard < 4; ++shard)
      items.push_back(trainer->data.reader().read(shard, Cursor{}));
    if (last_has_ended) items[3].ended = true;
    Accumulator accumulator(4, 0, 4, trainer->state.size());
    struct Said {
      ElementRange bucket;
      std::vector<float> values;
    };
    std::vector<Said> said;
    const auto hear = [&](const std::vector<NodeValue>& sums, ElementRange bucket) {
      ASSERT_EQ(sums.size(), 1u);
      EXPECT_EQ(sums[0].node, 1u);
      said.push_back({bucket, {sums[0].values + bucket.begin, sums[0].values + bucket.end}});
    };
    const Computed computed = compute_step(*trainer, accumulator, items, 1, 0, {16, hear});
    ASSERT_EQ(said.size(), 3u);
    EXPECT_EQ(said[0].bucket, (ElementRange{48, 62}));
    EXPECT_EQ(said[2].bucket, (ElementRange{16, 32}));
    for (const Said& part : said) {
      const float* whole = computed.nodes[0].values + part.bucket.begin;
      EXPECT_TRUE(std::equal(part.values.begin(), part.values.end(), whole));
    }
    Accumulator plain(4, 0, 4, trainer->state.size());
    const Computed again = compute_step(*trainer, plain, items, 1, 0);
    EXPECT_TRUE(std::equal(again.nodes[0].values, again.nodes[0].values + 62, computed.nodes[0].values));
  }
}

TEST(Probe, IsAFunctionOfModelAndDataAlone) {
  const Job job = small_job();
  int gradients = 0;
  const auto trainer = bench_of(job, [&] { ++gradients; });
  trainer->model->initialize(job.seed, trainer->state.span());
  const std::string first = probe(*trainer);
  EXPECT_EQ(first.size(), 64u);
  EXPECT_EQ(gradients, 1);
  std::ranges::fill(trainer->state.span(), 1.0f);  // as after a resume
  EXPECT_EQ(probe(*trainer), first);
  Job other = job;
  other.seed = 5;
  EXPECT_NE(probe(*bench_of(other, [] {})), first);
}

TEST(Probe, ShapesTellLayoutsApart) {
  Layout a, b, c;
  a.add_parameter("weight", {2, 3});
  b.add_parameter("weight", {3, 2});
  c.add_buffer("weight", {2, 3});
  EXPECT_NE(shapes_of(a), shapes_of(b));
  EXPECT_NE(shapes_of(a), shapes_of(c));
}

}  // namespace
}  // namespace muster
