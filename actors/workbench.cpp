#include "muster/actors/workbench.hpp"

#include <algorithm>

#include "muster/actors/shard_states.hpp"
#include "muster/actors/snapshot.hpp"
#include "muster/config/error.hpp"

namespace muster {

namespace {

ScheduleOptions schedule_options(const ScheduleConfig& config) {
  ScheduleOptions options;
  switch (config.kind) {
    case ScheduleKind::constant:
      options.kind = ScheduleOptions::Kind::constant;
      break;
    case ScheduleKind::step:
      options.kind = ScheduleOptions::Kind::step;
      break;
    case ScheduleKind::cosine:
      options.kind = ScheduleOptions::Kind::cosine;
      break;
    case ScheduleKind::warm_up:
      options.kind = ScheduleOptions::Kind::warm_up;
      break;
  }
  options.initial = config.initial;
  options.warm_up = config.warm_up;
  options.every = config.every;
  options.factor = config.factor;
  options.steps = config.steps;
  options.final_rate = config.final_rate;
  return options;
}

// Before anything starts: what the job asks of the model, and it cannot do.
void check_demands(const Job& job, const Model& model, const ModelContext& context) {
  const std::string name = "model " + job.model.shown();
  if (job.train.remainder == Remainder::pad && model.mixes_samples())
    throw JobError(
        "train.remainder",
        "\"pad\" is not for " + name + ": padded rows would change the others' result (batch normalisation)");
  if (context.bfloat16 && !model.takes_bfloat16())
    throw JobError("train.precision", "\"bfloat16\" is not for " + name + ": it computes in float32 only");
  if (context.device.starts_with("cuda") && !model.takes_cards())
    throw JobError("cluster.devices",
                   context.device + " is not for " + name + ": it computes on the CPU only");
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, std::size_t parameters) {
  std::shared_ptr<const Schedule> schedule = make_schedule(schedule_options(config.learning_rate));
  if (config.kind == OptimizerKind::sgd) {
    return make_sgd({config.momentum, config.nesterov, config.weight_decay}, schedule, parameters);
  }
  return make_adam(
      {config.beta1, config.beta2, config.epsilon, config.weight_decay, config.kind == OptimizerKind::adamw},
      schedule, parameters);
}

std::vector<Optimizer::Slot> slots_of(const Workbench& bench) {
  auto slots = bench.optimizer ? bench.optimizer->slots() : std::vector<Optimizer::Slot>{};
  if (bench.powersgd) slots.push_back({"powersgd.q", std::span(const_cast<Workbench&>(bench).q)});
  return slots;
}

std::shared_ptr<Workbench> make_workbench(const Job& job, const Registry& registry, const std::string& device,
                                          bool computes, bool loads) {
  auto bench = std::make_shared<Workbench>();
  bench->job = job;
  if (computes) {
    const ModelContext context{device, static_cast<int>(job.train.threads),
                               job.train.precision == Precision::bfloat16};
    bench->model = registry.make_model(job.model, context);
    check_demands(job, *bench->model, context);
    const Layout& layout = bench->model->layout();
    bench->state.resize(layout.total());
    bench->gradient.resize(layout.total());
    if (job.train.compression.kind == CompressionKind::powersgd) prepare_powersgd(*bench);
    bench->model->initialize(job.seed, bench->state);
    if (!job.train.shard_optimizer) bench->optimizer = make_optimizer(job.train.optimizer, layout.parameters);
  }
  if (loads) {
    bench->data = std::make_unique<Dataset>(registry.make_source(job.data.source, job.data.options));
    bench->reader = std::make_unique<BatchReader>(bench->job, *bench->data);
  }
  return bench;
}

void copy_into(Snapshot& snapshot, Workbench& bench) {
  snapshot.state = bench.state;
  if (!bench.optimizer) return;
  for (const auto& slot : slots_of(bench)) {
    snapshot.slots.push_back({slot.name, {slot.values.begin(), slot.values.end()}});
  }
}

void restore(Workbench& bench, const SnapshotView& snapshot) {
  const auto slots = slots_of(bench);
  const auto others = std::find_if(snapshot.slots.begin(), snapshot.slots.end(),
                                   [](const SnapshotView::Slot& slot) { return is_state_slot(slot.name); });
  const auto fits_into = [](std::span<const std::byte> bytes, std::span<const float> values) {
    return bytes.size() == values.size_bytes();
  };
  const bool fits =
      !bench.optimizer || std::equal(slots.begin(), slots.end(), snapshot.slots.begin(), others,
                                     [&](const Optimizer::Slot& mine, const SnapshotView::Slot& kept) {
                                       return mine.name == kept.name && fits_into(kept.values, mine.values);
                                     });
  if (!fits || !fits_into(snapshot.state, bench.state)) {
    throw Error(Advice::fix_job, "the snapshot is of another model or optimiser: it holds " +
                                     std::to_string(snapshot.state.size() / sizeof(float)) +
                                     " elements and " + std::to_string(snapshot.slots.size()) +
                                     " optimiser vectors, the job has " + std::to_string(bench.state.size()) +
                                     " and " + std::to_string(slots.size()));
  }
  std::ranges::copy(snapshot.state, std::as_writable_bytes(std::span(bench.state)).begin());
  for (std::size_t i = 0; i < slots.size(); ++i)
    std::ranges::copy(snapshot.slots[i].values, std::as_writable_bytes(slots[i].values).begin());
  bench.applied = snapshot.place.steps;
}

void restore(Workbench& bench, const Snapshot& snapshot) {
  SnapshotView view{snapshot.place, std::as_bytes(std::span(snapshot.state)), {}};
  for (const auto& slot : snapshot.slots)
    view.slots.push_back({slot.name, std::as_bytes(std::span(slot.values))});
  restore(bench, view);
}

void go_back_to(Workbench& bench, const Snapshot& snapshot) {
  if (snapshot.place.records == 0) {
    bench.model->initialize(bench.job.seed, bench.state);
    bench.applied = 0;
    if (bench.optimizer)
      bench.optimizer = make_optimizer(bench.job.train.optimizer, bench.model->layout().parameters);
    if (bench.powersgd) bench.powersgd->begin(bench.job.seed, bench.q);
    return;  // the part has been prepared, and is 0
  }
  restore(bench, snapshot);
  bench.next_part->fill_from(snapshot);
}

DataFacts data_facts(const Workbench& bench) {
  const BatchReader& reader = *bench.reader;
  DataFacts facts;
  if (const auto samples = reader.samples()) facts.samples = static_cast<std::int64_t>(*samples);
  facts.unit_is_batch = reader.unit() == "batch";
  facts.has_test = reader.evaluates();
  if (const auto dealing = reader.dealing()) facts.dropped = dealing->dropped();
  facts.steps_per_epoch = reader.steps_per_epoch().value_or(0);
  if (const auto& cut = reader.cut(); cut && cut->exhausted) {
    facts.take_asked = static_cast<std::int64_t>(cut->asked);
    facts.take_had = static_cast<std::int64_t>(cut->had);
  }
  facts.fingerprint = bench.data->train->fingerprint();
  if (bench.data->test) facts.fingerprint.append(" ").append(bench.data->test->fingerprint());
  return facts;
}

Wire wire_of(const Job& job) {
  return {static_cast<WireType>(job.train.wire), static_cast<int>(job.train.wire_exponent)};
}

std::size_t bucket_elements(const Job& job, std::size_t elements, std::size_t replicas) {
  if (job.reduce.bucket_bytes == 0) return Buckets::suitable(elements, replicas);
  return job.reduce.bucket_bytes / sizeof(float);
}

namespace {

// One shard's gradient, added bucket by bucket to the sums that it belongs to.
Metrics add_gradient(Workbench& bench, Accumulator& accumulator, std::span<float> leaf, const Item& item,
                     const StepKey& key, const Offering& offering) {
  if (bench.job.train.shards_have_state()) {
    const Metrics metrics = compressed_gradient(bench, leaf, item, key);
    accumulator.add_leaf();
    return metrics;
  }
  const Buckets buckets(leaf.size(), offering.bucket_elements);
  const BucketDone& done = offering.done;
  BucketsReady complete(buckets);
  std::size_t left = buckets.count();
  const std::vector<NodeValue> sums = done ? accumulator.nodes() : std::vector<NodeValue>{};
  const auto metrics = bench.model->gradient_in_parts(
      bench.state, *item.batch, key, leaf, [&](std::size_t begin, std::size_t count) {
        complete.ready({begin, begin + count}, [&](ElementRange bucket) {
          accumulator.add(bucket);
          if (--left > 0 && done) done(sums, bucket);
        });
      });
  if (left > 0) throw Error(Advice::give_up, "it did not say that its whole gradient was ready");
  accumulator.add_leaf();
  return metrics;
}

}  // namespace

Computed compute_step(Workbench& bench, Accumulator& accumulator, const std::vector<Item>& items,
                      std::uint64_t step, std::uint64_t turn, const Offering& offering) {
  Computed computed;
  accumulator.start();
  auto last = items.size();  // the last one that has something
  while (last > 0 && !has_rows(items[last - 1])) --last;
  for (std::size_t i = 0; i < last; ++i) {
    if (bench.turn != turn) return computed;
    const Item& item = items[i];
    if (!has_rows(item)) {
      accumulator.skip_leaf();
      continue;
    }
    bench.progress->now(Activity::computing, item.shard);
    const StepKey key{bench.job.seed, item.cursor.epoch, step, item.shard};
    const auto leaf = accumulator.leaf();
    for (std::size_t rest = last; i + 1 == last && rest < items.size(); ++rest) accumulator.skip_leaf();
    const Metrics metrics = add_gradient(bench, accumulator, leaf, item, key,
                                         {offering.bucket_elements, i + 1 == last ? offering.done : nullptr});
    computed.metrics.push_back(
        {item.shard, 0, metrics.loss, metrics.correct, bench.model->weight(*item.batch)});
  }
  for (std::size_t i = 0; last == 0 && i < items.size(); ++i) accumulator.skip_leaf();
  computed.nodes = accumulator.nodes();
  return computed;
}

void compute_evaluation(Workbench& bench, const std::vector<Item>& items, std::vector<ShardMetrics>& sums) {
  for (const Item& item : items) {
    if (item.ended) continue;
    bench.progress->now(Activity::computing, item.shard);
    const Metrics metrics = bench.model->evaluate(bench.state, *item.batch);
    auto sum =
        std::find_if(sums.begin(), sums.end(), [&](const ShardMetrics& m) { return m.shard == item.shard; });
    if (sum == sums.end()) {
      sums.push_back({item.shard, 0, 0, 0, 0});
      sum = sums.end() - 1;
    }
    sum->loss += metrics.loss;
    sum->correct += metrics.correct;
    sum->weight += bench.model->weight(*item.batch);
  }
}

void apply_step(Workbench& bench, std::uint64_t step, const std::vector<ShardWord>& shards) {
  bench.progress->now(Activity::updating);
  const std::size_t parameters = bench.model->layout().parameters;
  const std::span<const float> gradient = mean_of_step(bench);
  if (bench.part) bench.part->commit(step, shards);
  if (!bench.optimizer) {
    std::copy(gradient.begin(), gradient.end(), bench.state.begin());
    bench.applied = step;
    return;
  }
  bench.optimizer->update(step, std::span<float>(bench.state).first(parameters), gradient.first(parameters));
  for (std::size_t i = parameters; i < bench.state.size(); ++i)
    bench.state[i] += gradient[i];  // mean change of buffers
  bench.applied = step;
}

}  // namespace muster
