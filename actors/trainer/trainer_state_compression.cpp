// Compression of the gradients of a trainer state's shards (train.compression).
#include <algorithm>

#include "actors/trainer/shard_states.hpp"
#include "actors/trainer/trainer_state.hpp"

namespace muster {

ReducedElements reduced_elements(const Job& job, const Layout& layout) {
  if (job.train.compression.kind != CompressionKind::powersgd) return {0, layout.total()};
  const PowerSgd powersgd(layout, job.train.compression.rank);
  return {powersgd.first(), powersgd.second()};
}

ReducedElements reduced_elements(const TrainerState& trainer) {
  if (!trainer.low_rank) return {0, trainer.state.size()};
  return {trainer.low_rank->first(), trainer.low_rank->second()};
}

namespace {

// What compression left out before is added to the gradient; that is kept for the second sums.
Metrics projection(TrainerState& trainer, std::span<float> leaf, const Item& item, const StepKey& key) {
  ShardStates& states = states_of(trainer);
  LowRank& low_rank = *trainer.low_rank;
  const Metrics metrics = trainer.model->gradient(trainer.state.span(), *item.batch, key, low_rank.work());
  low_rank.project(states.left_out(item.shard), states.copy(item.shard), leaf);
  return metrics;
}

// The largest elements are known when all are: nothing is added before.
Metrics largest(TrainerState& trainer, std::span<float> leaf, const Item& item, const StepKey& key) {
  const Metrics metrics = trainer.model->gradient(trainer.state.span(), *item.batch, key, leaf);
  states_of(trainer).compress(item.shard, key.step, leaf.first(trainer.model->layout().parameters));
  return metrics;
}

}  // namespace

Metrics compressed_gradient(TrainerState& trainer, std::span<float> leaf, const Item& item,
                            const StepKey& key) {
  return trainer.low_rank ? projection(trainer, leaf, item, key) : largest(trainer, leaf, item, key);
}

// The mean gradient, or what compression makes of it.
std::span<const float> mean_of_step(TrainerState& trainer) {
  const std::span<const float> reduced = trainer.gradient.host();
  return trainer.low_rank ? trainer.low_rank->mean(reduced) : reduced;
}

void keep_mean_of_step(TrainerState& trainer) {
  if (trainer.low_rank) trainer.low_rank->keep(trainer.gradient.host());
}

Computed compute_second(TrainerState& trainer, Accumulator& accumulator, const std::vector<Item>& items,
                        std::uint64_t step, std::uint64_t turn) {
  Computed computed;
  const PowerSgd& powersgd = trainer.low_rank->algorithm();
  const auto first = trainer.low_rank->orthonormal(trainer.gradient.host());
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
