#include "actors/trainer/trainer_state.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "actors/checkpoint/snapshot.hpp"
#include "actors/registry/requirements.hpp"
#include "actors/registry/start_weights.hpp"
#include "actors/rules/stragglers/straggler_policy.hpp"
#include "actors/trainer/gpu_sums.hpp"
#include "actors/trainer/shard_states.hpp"
#include "config/placement.hpp"
#include "muster/error.hpp"

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

std::vector<Optimizer::Slot> slots_of(const TrainerState& trainer) {
  auto slots = trainer.optimizer ? trainer.optimizer->slots() : std::vector<Optimizer::Slot>{};
  if (trainer.low_rank) slots.push_back(trainer.low_rank->slot());
  return slots;
}

DeviceMemory device_memory(const Job& job) {
  DeviceMemory memory;
  memory.bound_bytes = job.cluster.device_memory_bytes;
  if (memory.bound_bytes > 0) memory.key = "cluster.device_memory";
  return memory;
}

DeviceMemory memory_for_reducing(const TrainerState& trainer) {
  DeviceMemory memory = device_memory(trainer.job);
  const std::size_t taken = trainer.device->memory().held_bytes;
  if (memory.bound_bytes > 0)
    memory.bound_bytes = memory.bound_bytes > taken ? memory.bound_bytes - taken : 1;
  return memory;
}

// The state that the job begins with.
static void begin_state(TrainerState& trainer) {
  trainer.model->initialize(trainer.job.seed, trainer.state.span());
  if (trainer.job.checkpoint.start_from.empty()) return;
  const auto weights = start_weights(trainer.job.checkpoint.start_from, trainer.model->layout());
  trainer.device->copy_in(std::as_bytes(std::span(weights)), std::as_writable_bytes(trainer.state.span()));
  trainer.device->synchronize();
}

std::shared_ptr<TrainerState> make_trainer_state(const Job& job, const Registry& registry,
                                                 const std::string& device, bool computes, bool loads) {
  return make_trainer_state(
      job, registry, computes ? make_compute_device(device, device_memory(job)) : nullptr, computes, loads);
}

std::shared_ptr<TrainerState> make_trainer_state(const Job& job, const Registry& registry,
                                                 std::shared_ptr<ComputeDevice> device, bool computes,
                                                 bool loads,
                                                 const std::function<void(const Layout&)>& sized) {
  auto trainer = std::make_shared<TrainerState>();
  trainer->job = job;
  trainer->device = std::move(device);
  if (computes) {
    const ModelContext context{trainer->device->name(), static_cast<int>(job.train.threads),
                               job.train.precision == Precision::bfloat16, trainer->device->stream()};
    trainer->model = registry.make_model(job.model, context);
    check_requirements(job, *trainer->model, context.device);
    const Layout& layout = trainer->model->layout();
    if (sized) sized(layout);
    trainer->state = DeviceFloats(trainer->device, layout.total());
    const auto& compression = job.train.compression;
    std::size_t reduced = layout.total();
    if (compression.kind == CompressionKind::powersgd) {
      trainer->low_rank = std::make_unique<LowRank>(layout, compression.rank);
      trainer->low_rank->begin(job.seed);
      reduced = trainer->low_rank->first() + trainer->low_rank->second();
    }
    trainer->finite = FiniteCheck(trainer->device);
    trainer->gradient = GradientMemory(trainer->device, reduced, layout.total());
    begin_state(*trainer);
    trainer->cause.begin(*trainer->device, trainer->state.span().first(layout.parameters));
    if (job.train.clip_norm)
      trainer->clipping =
          std::make_unique<Clipping>(trainer->device, layout.parameters, *job.train.clip_norm);
    if (!job.train.shard_optimizer)
      trainer->optimizer = make_optimizer(job.train.optimizer, layout.parameters, trainer->device);
  }
  trainer->data = NodeData(
      job, [registry, source = job.data] { return registry.make_source(source.source, source.options); });
  if (loads) trainer->data.reader();
  return trainer;
}

std::vector<float> host_copy(ComputeDevice& device, std::span<const float> values) {
  std::vector<float> copy(values.size());
  device.copy_out(values, std::span(copy));
  device.synchronize();
  return copy;
}

std::vector<float> host_state(const TrainerState& trainer) {
  return host_copy(*trainer.device, trainer.state.span());
}

void copy_into(Snapshot& snapshot, TrainerState& trainer) {
  snapshot.state = host_state(trainer);
  if (!trainer.optimizer) return;
  for (const auto& slot : slots_of(trainer))
    snapshot.slots.push_back({slot.name, host_copy(*trainer.device, slot.values)});
}

void restore(TrainerState& trainer, const SnapshotView& snapshot) {
  const auto slots = slots_of(trainer);
  const auto others = std::find_if(snapshot.slots.begin(), snapshot.slots.end(),
                                   [](const SnapshotView::Slot& slot) { return is_state_slot(slot.name); });
  const auto fits_into = [](std::span<const std::byte> bytes, std::span<const float> values) {
    return bytes.size() == values.size_bytes();
  };
  const bool fits =
      !trainer.optimizer || std::equal(slots.begin(), slots.end(), snapshot.slots.begin(), others,
                                       [&](const Optimizer::Slot& mine, const SnapshotView::Slot& kept) {
                                         return mine.name == kept.name && fits_into(kept.values, mine.values);
                                       });
  if (!fits || !fits_into(snapshot.state, trainer.state.span())) {
    throw Error("the snapshot is of another model or optimizer: it holds " +
                std::to_string(snapshot.state.size() / sizeof(float)) + " elements and " +
                std::to_string(snapshot.slots.size()) + " optimizer vectors, the job has " +
                std::to_string(trainer.state.size()) + " and " + std::to_string(slots.size()));
  }
  trainer.weighed.of = {};
  trainer.device->copy_in(snapshot.state, std::as_writable_bytes(trainer.state.span()));
  for (std::size_t i = 0; i < slots.size(); ++i)
    trainer.device->copy_in(snapshot.slots[i].values, std::as_writable_bytes(slots[i].values));
  trainer.device->synchronize();
  trainer.applied = snapshot.place.steps;
}

void restore(TrainerState& trainer, const Snapshot& snapshot) {
  SnapshotView view{snapshot.place, std::as_bytes(std::span(snapshot.state)), {}};
  for (const auto& slot : snapshot.slots)
    view.slots.push_back({slot.name, std::as_bytes(std::span(slot.values))});
  restore(trainer, view);
}

void go_back_to(TrainerState& trainer, const Snapshot& snapshot) {
  if (snapshot.place.records == 0) {
    trainer.weighed.of = {};
    begin_state(trainer);
    trainer.applied = 0;
    trainer.steady.reset();  // before its optimizer
    if (trainer.optimizer)
      trainer.optimizer =
          make_optimizer(trainer.job.train.optimizer, trainer.model->layout().parameters, trainer.device);
    if (trainer.low_rank) trainer.low_rank->begin(trainer.job.seed);
    return;  // the part has been prepared, and is 0
  }
  restore(trainer, snapshot);
  if (trainer.next_part) trainer.next_part->fill_from(snapshot);
}

Wire wire_of(const Job& job) {
  return {static_cast<WireType>(job.train.wire), static_cast<int>(job.train.wire_exponent)};
}

std::unique_ptr<Accumulator> make_accumulator(const TrainerState& trainer, std::uint32_t begin,
                                              std::uint32_t end) {
  const std::uint32_t shards = trainer.job.train.shards;
  const std::size_t elements = reduced_elements(trainer).most();
  if (!trainer.device->is_gpu())
    return std::make_unique<Accumulator>(shards, begin, end, elements, wire_of(trainer.job));
  const auto make_sums = trainer.gradient.sums_on_gpus() ? make_gpu_sums_in_place : make_gpu_sums;
  return std::make_unique<Accumulator>(shards, begin, end, elements, make_sums(trainer.device, elements));
}

bool sums_stay(const TrainerState& trainer, const View& view) {
  return trainer.job.cluster.replicas == 1 && view.replicas.size() == 1 && trainer.device->is_gpu();
}

// What else the host does to sums is refused for GPUs anyway (check_requirements).
bool may_sum_on_gpus(const Job& job) {
  return job.reduce.gpu_direct && job.cluster.replicas > 1 && !straggler_policy(job.cluster).backup_tasks;
}

void replace_result(TrainerState& trainer, bool on_gpu) {
  if (on_gpu) trainer.steady.reset();  // it was recorded there
  trainer.gradient.replace(on_gpu);
}

void make_room_for_sums(TrainerState& trainer) {
  if (!trainer.device->is_gpu()) return;
  const auto [begin, end] = place_shards(trainer.job.train.shards, trainer.job.cluster.replicas).front();
  const std::size_t elements = reduced_elements(trainer).most();
  std::vector<DeviceFloats> room;
  for (std::size_t left = Accumulator::bytes_max(trainer.job.train.shards, begin, end, elements); left > 0;
       left -= elements * sizeof(float))
    room.emplace_back(trainer.device, elements);
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
Metrics add_gradient(TrainerState& trainer, Accumulator& accumulator, std::span<float> leaf, const Item& item,
                     const StepKey& key, const Offering& offering, bool last, LeafHash& leaf_hash) {
  if (trainer.job.train.shards_have_state()) {
    const Metrics metrics = compressed_gradient(trainer, leaf, item, key);
    accumulator.add_leaf();
    return metrics;
  }
  const Buckets buckets(leaf.size(), offering.bucket_elements);
  BucketsReady complete(buckets);
  std::size_t left = buckets.count();
  std::optional<Departing> departing;
  if (last && !offering.stays) departing.emplace(accumulator, offering.done);
  LeafHash* const hash = offering.audited == item.shard ? &leaf_hash : nullptr;
  const auto metrics = trainer.model->gradient_in_parts(
      trainer.state.span(), *item.batch, key, leaf, [&](std::size_t begin, std::size_t count) {
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

Computed compute_step(TrainerState& trainer, Accumulator& accumulator, const std::vector<Item>& items,
                      std::uint64_t step, std::uint64_t turn, const Offering& offering) {
  Computed computed;
  accumulator.start();
  auto last = items.size();  // the last one that has something
  while (last > 0 && !has_rows(items[last - 1])) --last;
  for (std::size_t i = 0; i < last; ++i) {
    if (trainer.turn != turn) return computed;
    const Item& item = items[i];
    if (!has_rows(item)) {
      accumulator.skip_leaf();
      continue;
    }
    trainer.progress->computes(item.shard);
    const StepKey key{trainer.job.seed, item.cursor.epoch, step, item.shard};
    const auto leaf = accumulator.leaf();
    for (std::size_t rest = last; i + 1 == last && rest < items.size(); ++rest) accumulator.skip_leaf();
    LeafHash hash(*trainer.device);
    const Metrics metrics = at_shard(item.shard, [&] {
      const ProgressBoard::InCall call(*trainer.progress, {ThreadCall::Kind::computes, item.shard, step});
      trainer.model->check_batch(*item.batch);
      return add_gradient(trainer, accumulator, leaf, item, key, offering, i + 1 == last, hash);
    });
    if (offering.audited == item.shard) computed.audits.push_back({item.shard, 0, hash.finish()});
    computed.metrics.push_back({item.shard, bad_sample_of(*item.batch, metrics.loss), metrics.loss,
                                metrics.correct, trainer.model->weight(*item.batch)});
  }
  for (std::size_t i = 0; last == 0 && i < items.size(); ++i) accumulator.skip_leaf();
  if (!offering.stays) computed.nodes = accumulator.nodes();
  return computed;
}

void compute_evaluation(TrainerState& trainer, const std::vector<Item>& items,
                        std::vector<ShardMetrics>& sums) {
  for (const Item& item : items) {
    if (item.ended) continue;
    trainer.progress->computes(item.shard);
    const Metrics metrics = at_shard(item.shard, [&] {
      const ProgressBoard::InCall call(*trainer.progress,
                                       {ThreadCall::Kind::evaluates, item.shard, trainer.applied});
      trainer.model->check_batch(*item.batch);
      return trainer.model->evaluate(trainer.state.span(), *item.batch);
    });
    auto sum =
        std::find_if(sums.begin(), sums.end(), [&](const ShardMetrics& m) { return m.shard == item.shard; });
    if (sum == sums.end()) {
      sums.push_back({item.shard, 0, 0, 0, 0});
      sum = sums.end() - 1;
    }
    sum->loss += metrics.loss;
    sum->correct += metrics.correct;
    sum->weight += trainer.model->weight(*item.batch);
  }
}

}  // namespace muster
