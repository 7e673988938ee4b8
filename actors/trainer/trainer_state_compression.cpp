// Compression of the gradients of a trainer state's shards (train.compression).
#include <algorithm>

#include "actors/trainer/shard_states.hpp"
#include "actors/trainer/trainer_state.hpp"

namespace muster {

void prepare_powersgd(TrainerState& trainer) {
  const Layout& layout = trainer.model->layout();
  trainer.powersgd = std::make_unique<PowerSgd>(layout, trainer.job.train.compression.rank);
  trainer.gradient.resize(trainer.powersgd->first() + trainer.powersgd->second());
  trainer.first.resize(trainer.powersgd->first());
  trainer.q.resize(layout.parameters);
  trainer.change.resize(layout.total());
  trainer.powersgd->begin(trainer.job.seed, trainer.q);
}

ReducedElements reduced_elements(const Job& job, const Layout& layout) {
  if (job.train.compression.kind != CompressionKind::powersgd) return {0, layout.total()};
  const PowerSgd powersgd(layout, job.train.compression.rank);
  return {powersgd.first(), powersgd.second()};
}

ReducedElements reduced_elements(const TrainerState& trainer) {
  if (!trainer.powersgd) return {0, trainer.state.size()};
  return {trainer.powersgd->first(), trainer.powersgd->second()};
}

namespace {

// What compression left out before is added to the gradient; that is kept for the second sums.
Metrics projection(TrainerState& trainer, std::span<float> leaf, const Item& item, const StepKey& key) {
  ShardStates& states = states_of(trainer);
  const Metrics metrics = trainer.model->gradient(trainer.state.span(), *item.batch, key, trainer.change);
  const std::span<const float> left_out = states.left_out(item.shard);
  for (std::size_t i = 0; i < left_out.size(); ++i) trainer.change[i] += left_out[i];
  std::copy_n(trainer.change.begin(), left_out.size(), states.copy(item.shard).begin());
  trainer.powersgd->project(trainer.change, trainer.q, leaf);
  std::fill(leaf.begin() + static_cast<std::ptrdiff_t>(trainer.powersgd->first()), leaf.end(), 0.0f);
  return metrics;
}

// The largest elements are known when all are: nothing is added before.
Metrics largest(TrainerState& trainer, std::span<float> leaf, const Item& item, const StepKey& key) {
  const Metrics metrics = trainer.model->gradient(trainer.state.span(), *item.batch, key, leaf);
  states_of(trainer).compress(item.shard, key.step, leaf.first(trainer.model->layout().parameters));
  return metrics;
}

// What all make of the first sums. These stay as they are: they are part of the step's record.
std::span<const float> orthonormal(TrainerState& trainer) {
  std::copy_n(trainer.gradient.begin(), trainer.first.size(), trainer.first.begin());
  trainer.powersgd->orthonormalize(trainer.first);
  return trainer.first;
}

}  // namespace

Metrics compressed_gradient(TrainerState& trainer, std::span<float> leaf, const Item& item,
                            const StepKey& key) {
  return trainer.powersgd ? projection(trainer, leaf, item, key) : largest(trainer, leaf, item, key);
}

// The mean gradient, or what compression makes of it.
std::span<const float> mean_of_step(TrainerState& trainer) {
  if (!trainer.powersgd) return trainer.gradient;
  const auto second = std::span<const float>(trainer.gradient).subspan(trainer.powersgd->first());
  trainer.powersgd->change(orthonormal(trainer), second, trainer.change);
  return trainer.change;
}

void keep_mean_of_step(TrainerState& trainer) {
  if (!trainer.powersgd) return;
  trainer.powersgd->keep(std::span<const float>(trainer.gradient).subspan(trainer.powersgd->first()),
                         trainer.q);
}

Computed compute_second(TrainerState& trainer, Accumulator& accumulator, const std::vector<Item>& items,
                        std::uint64_t step, std::uint64_t turn) {
  Computed computed;
  const PowerSgd& powersgd = *trainer.powersgd;
  const auto first = orthonormal(trainer);
  accumulator.start();
  for (const Item& item : items) {
    if (trainer.turn != turn) return computed;
    if (!has_rows(item)) {
      accumulator.skip_leaf();
      continue;
    }
    const auto leaf = accumulator.leaf(), second = leaf.first(powersgd.second());
    const auto gradient = states_of(trainer).copy(item.shard);
    powersgd.project_back(gradient, first, second);
    if (const Wire wire = wire_of(trainer.job); wire.rounds()) round_to(wire, second.size(), second.data());
    powersgd.leave(first, second, gradient);
    states_of(trainer).kept(item.shard, step);
    std::fill(leaf.begin() + static_cast<std::ptrdiff_t>(second.size()), leaf.end(), 0.0f);
    accumulator.add_leaf();
  }
  computed.nodes = accumulator.nodes();
  return computed;
}

}  // namespace muster
