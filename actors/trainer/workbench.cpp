#include "actors/trainer/workbench.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "actors/checkpoint/snapshot.hpp"
#include "actors/registry/demands.hpp"
#include "actors/registry/start_weights.hpp"
#include "actors/rules/watch/straggler_policy.hpp"
#include "actors/trainer/card_sums.hpp"
#include "actors/trainer/shard_states.hpp"
#include "config/placement.hpp"
#include "muster/error.hpp"
#include "transport/graveyard.hpp"

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

}  // namespace

std::unique_ptr<Schedule> make_schedule(const ScheduleConfig& config) {
  return make_schedule(schedule_options(config));
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, std::size_t parameters,
                                          std::shared_ptr<ComputeDevice> device) {
  std::shared_ptr<const Schedule> schedule = make_schedule(config.learning_rate);
  if (config.kind == OptimizerKind::sgd) {
    return make_sgd({config.momentum, config.nesterov, config.weight_decay}, schedule, parameters, device);
  }
  return make_adam(
      {config.beta1, config.beta2, config.epsilon, config.weight_decay, config.kind == OptimizerKind::adamw},
      schedule, parameters, device);
}

std::vector<Optimizer::Slot> slots_of(const Workbench& bench) {
  auto slots = bench.optimizer ? bench.optimizer->slots() : std::vector<Optimizer::Slot>{};
  if (bench.powersgd) slots.push_back({"powersgd.q", std::span(const_cast<Workbench&>(bench).q)});
  return slots;
}

DeviceMemory device_memory(const Job& job) {
  DeviceMemory memory;
  memory.bound_bytes = job.cluster.device_memory_bytes;
  if (memory.bound_bytes > 0) memory.key = "cluster.device_memory";
  return memory;
}

DeviceMemory memory_for_reducing(const Workbench& bench) {
  DeviceMemory memory = device_memory(bench.job);
  const std::size_t taken = bench.device->memory().held_bytes;
  if (memory.bound_bytes > 0)
    memory.bound_bytes = memory.bound_bytes > taken ? memory.bound_bytes - taken : 1;
  return memory;
}

// The state that the job begins with.
static void begin_state(Workbench& bench) {
  bench.model->initialize(bench.job.seed, bench.state.span());
  if (bench.job.checkpoint.start_from.empty()) return;
  const auto weights = start_weights(bench.job.checkpoint.start_from, bench.model->layout());
  bench.device->copy_in(std::as_bytes(std::span(weights)), std::as_writable_bytes(bench.state.span()));
  bench.device->synchronize();
}

std::shared_ptr<Workbench> make_workbench(const Job& job, const Registry& registry, const std::string& device,
                                          bool computes, bool loads) {
  return make_workbench(job, registry, computes ? make_compute_device(device, device_memory(job)) : nullptr,
                        computes, loads);
}

std::shared_ptr<Workbench> make_workbench(const Job& job, const Registry& registry,
                                          std::shared_ptr<ComputeDevice> device, bool computes, bool loads,
                                          const std::function<void(const Layout&)>& sized) {
  auto bench = std::make_shared<Workbench>();
  bench->job = job;
  bench->device = std::move(device);
  if (computes) {
    const ModelContext context{bench->device->name(), static_cast<int>(job.train.threads),
                               job.train.precision == Precision::bfloat16, bench->device->stream()};
    bench->model = registry.make_model(job.model, context);
    check_demands(job, *bench->model, context.device);
    const Layout& layout = bench->model->layout();
    if (sized) sized(layout);
    bench->state = DeviceFloats(bench->device, layout.total());
    bench->gradient.resize(layout.total());
    bench->finite = FiniteCheck(bench->device);
    pin_gradient(*bench);
    if (bench->device->is_card()) bench->mean = DeviceFloats(bench->device, layout.total());
    if (job.train.compression.kind == CompressionKind::powersgd) prepare_powersgd(*bench);
    begin_state(*bench);
    if (job.train.clip_norm)
      bench->clipping = std::make_unique<Clipping>(bench->device, layout.parameters, *job.train.clip_norm);
    if (!job.train.shard_optimizer)
      bench->optimizer = make_optimizer(job.train.optimizer, layout.parameters, bench->device);
  }
  bench->make_data = [registry, source = job.data] {
    return registry.make_source(source.source, source.options);
  };
  if (loads) reader_of(*bench);
  return bench;
}

BatchReader& reader_of(Workbench& bench) {
  if (!bench.reader) {
    bench.data = std::make_unique<Dataset>(bench.make_data());
    bench.reader = std::make_unique<BatchReader>(bench.job, *bench.data);
  }
  return *bench.reader;
}

void close_data(Workbench& bench) {
  bench.reader.reset();
  bench.data.reset();
}

std::vector<float> host_copy(ComputeDevice& device, std::span<const float> values) {
  std::vector<float> copy(values.size());
  device.copy_out(values, std::span(copy));
  device.synchronize();
  return copy;
}

std::vector<float> host_state(const Workbench& bench) {
  return host_copy(*bench.device, bench.state.span());
}

void copy_into(Snapshot& snapshot, Workbench& bench) {
  snapshot.state = host_state(bench);
  if (!bench.optimizer) return;
  for (const auto& slot : slots_of(bench))
    snapshot.slots.push_back({slot.name, host_copy(*bench.device, slot.values)});
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
  if (!fits || !fits_into(snapshot.state, bench.state.span())) {
    throw Error("the snapshot is of another model or optimiser: it holds " +
                std::to_string(snapshot.state.size() / sizeof(float)) + " elements and " +
                std::to_string(snapshot.slots.size()) + " optimiser vectors, the job has " +
                std::to_string(bench.state.size()) + " and " + std::to_string(slots.size()));
  }
  bench.weighed.of = {};
  bench.device->copy_in(snapshot.state, std::as_writable_bytes(bench.state.span()));
  for (std::size_t i = 0; i < slots.size(); ++i)
    bench.device->copy_in(snapshot.slots[i].values, std::as_writable_bytes(slots[i].values));
  bench.device->synchronize();
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
    bench.weighed.of = {};
    begin_state(bench);
    bench.applied = 0;
    bench.steady.reset();  // before its optimiser
    if (bench.optimizer)
      bench.optimizer =
          make_optimizer(bench.job.train.optimizer, bench.model->layout().parameters, bench.device);
    if (bench.powersgd) bench.powersgd->begin(bench.job.seed, bench.q);
    return;  // the part has been prepared, and is 0
  }
  restore(bench, snapshot);
  if (bench.next_part) bench.next_part->fill_from(snapshot);
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

std::unique_ptr<Accumulator> make_accumulator(const Workbench& bench, std::uint32_t begin,
                                              std::uint32_t end) {
  const std::uint32_t shards = bench.job.train.shards;
  const std::size_t elements = reduced_elements(bench).most();
  if (!bench.device->is_card())
    return std::make_unique<Accumulator>(shards, begin, end, elements, wire_of(bench.job));
  const auto make_sums = bench.sums_on_cards ? make_card_sums_in_place : make_card_sums;
  return std::make_unique<Accumulator>(shards, begin, end, elements, make_sums(bench.device, elements));
}

bool sums_stay(const Workbench& bench, const View& view) {
  return bench.job.cluster.replicas == 1 && view.replicas.size() == 1 && bench.device->is_card();
}

// What else the host does to sums is refused for cards anyway (check_demands).
bool may_sum_on_cards(const Job& job) {
  return job.reduce.gpu_direct && job.cluster.replicas > 1 && !straggler_policy(job.cluster).backup_tasks;
}

void replace_result(Workbench& bench, bool on_card) {
  if (on_card) {
    bench.steady.reset();  // it was recorded there
    bury(std::exchange(bench.mean, DeviceFloats(bench.device, bench.mean.size())));
    return bench.device->wait(bench.device->mark());  // the zeros that it begins with come before all else
  }
  bench.gradient_pin = {};
  bury(std::exchange(bench.gradient, Floats(bench.gradient.size())));
  pin_gradient(bench);
}

void pin_gradient(Workbench& bench) {
  bench.gradient_pin = {};  // before the memory that it was of goes
  if (bench.device->is_card() && bench.gradient.size() * sizeof(float) >= kLendableBytesMin)
    bench.gradient_pin = PinnedRange(bench.device, bench.gradient);
}

void make_room_for_sums(Workbench& bench) {
  if (!bench.device->is_card()) return;
  const auto [begin, end] = place_shards(bench.job.train.shards, bench.job.cluster.replicas).front();
  const std::size_t elements = reduced_elements(bench).most();
  std::vector<DeviceFloats> room;
  for (std::size_t left = Accumulator::bytes_max(bench.job.train.shards, begin, end, elements); left > 0;
       left -= elements * sizeof(float))
    room.emplace_back(bench.device, elements);
}

std::size_t bucket_elements(const Job& job, std::size_t elements, std::size_t replicas) {
  if (job.reduce.bucket_bytes == 0) return Buckets::suitable(elements, replicas);
  return job.reduce.bucket_bytes / sizeof(float);
}

namespace {

// The buckets of a step's sums, on their way to who reduces them. That one gets the last one with all others.
class Departing {
 public:
  Departing(Accumulator& accumulator, const BucketDone& done)
      : accumulator_(accumulator), done_(done), sums_(accumulator.nodes()) {}

  void finish(ElementRange bucket) {
    accumulator_.finish(bucket);
    finished_.push_back(bucket);
    say(accumulator_.finished(false));
  }
  void finish_all() { say(accumulator_.finished(true)); }

 private:
  void say(std::size_t arrived) {
    for (; said_ < arrived; ++said_) {
      left_ -= finished_[said_].count();
      if (done_ && left_ > 0) done_(sums_, finished_[said_]);
    }
  }

  Accumulator& accumulator_;
  const BucketDone& done_;
  std::vector<NodeValue> sums_;
  std::vector<ElementRange> finished_;
  std::size_t said_ = 0, left_ = accumulator_.elements();
};

// One shard's gradient, added bucket by bucket to the sums that it belongs to. After the last one these are
// final.
Metrics add_gradient(Workbench& bench, Accumulator& accumulator, std::span<float> leaf, const Item& item,
                     const StepKey& key, const Offering& offering, bool last, LeafHash& leaf_hash) {
  if (bench.job.train.shards_have_state()) {
    const Metrics metrics = compressed_gradient(bench, leaf, item, key);
    accumulator.add_leaf();
    return metrics;
  }
  const Buckets buckets(leaf.size(), offering.bucket_elements);
  BucketsReady complete(buckets);
  std::size_t left = buckets.count();
  std::optional<Departing> departing;
  if (last && !offering.stays) departing.emplace(accumulator, offering.done);
  LeafHash* const hash = offering.audited == item.shard ? &leaf_hash : nullptr;
  const auto metrics = bench.model->gradient_in_parts(
      bench.state.span(), *item.batch, key, leaf, [&](std::size_t begin, std::size_t count) {
        complete.ready({begin, begin + count}, [&](ElementRange bucket) {
          if (hash) hash->add(leaf, bucket);
          accumulator.add(bucket);
          if (departing) departing->finish(bucket);
          --left;
        });
      });
  if (left > 0) throw Error("it did not say that its whole gradient was ready");
  if (departing) departing->finish_all();
  accumulator.add_leaf();
  return metrics;
}

// Work on the micro-batch of a shard; what it throws says so.
template <class Work>
auto at_shard(std::uint32_t shard, Work&& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    throw ShardError(shard, error.what());
  }
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
    bench.progress->computes(item.shard);
    const StepKey key{bench.job.seed, item.cursor.epoch, step, item.shard};
    const auto leaf = accumulator.leaf();
    for (std::size_t rest = last; i + 1 == last && rest < items.size(); ++rest) accumulator.skip_leaf();
    LeafHash hash(*bench.device);
    const Metrics metrics = at_shard(item.shard, [&] {
      const ProgressBoard::InCall call(*bench.progress, {ThreadCall::Kind::computes, item.shard, step});
      bench.model->check_batch(*item.batch);
      return add_gradient(bench, accumulator, leaf, item, key, offering, i + 1 == last, hash);
    });
    if (offering.audited == item.shard) computed.audits.push_back({item.shard, 0, hash.finish()});
    computed.metrics.push_back(
        {item.shard, 0, metrics.loss, metrics.correct, bench.model->weight(*item.batch)});
  }
  for (std::size_t i = 0; last == 0 && i < items.size(); ++i) accumulator.skip_leaf();
  if (!offering.stays) computed.nodes = accumulator.nodes();
  return computed;
}

void compute_evaluation(Workbench& bench, const std::vector<Item>& items, std::vector<ShardMetrics>& sums) {
  for (const Item& item : items) {
    if (item.ended) continue;
    bench.progress->computes(item.shard);
    const Metrics metrics = at_shard(item.shard, [&] {
      const ProgressBoard::InCall call(*bench.progress,
                                       {ThreadCall::Kind::computes, item.shard, bench.applied});
      bench.model->check_batch(*item.batch);
      return bench.model->evaluate(bench.state.span(), *item.batch);
    });
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

}  // namespace muster
