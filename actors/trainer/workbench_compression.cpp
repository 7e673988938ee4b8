// Compression of the gradients of a workbench's shards (train.compression).
#include <algorithm>

#include "actors/trainer/shard_states.hpp"
#include "actors/trainer/workbench.hpp"

namespace muster {

void prepare_powersgd(Workbench& bench) {
  const Layout& layout = bench.model->layout();
  bench.powersgd = std::make_unique<PowerSgd>(layout, bench.job.train.compression.rank);
  bench.gradient.resize(bench.powersgd->first() + bench.powersgd->second());
  bench.first.resize(bench.powersgd->first());
  bench.q.resize(layout.parameters);
  bench.change.resize(layout.total());
  bench.powersgd->begin(bench.job.seed, bench.q);
}

ReducedElements reduced_elements(const Job& job, const Layout& layout) {
  if (job.train.compression.kind != CompressionKind::powersgd) return {0, layout.total()};
  const PowerSgd powersgd(layout, job.train.compression.rank);
  return {powersgd.first(), powersgd.second()};
}

ReducedElements reduced_elements(const Workbench& bench) {
  if (!bench.powersgd) return {0, bench.state.size()};
  return {bench.powersgd->first(), bench.powersgd->second()};
}

namespace {

// What compression left out before is added to the gradient; that is kept for the second sums.
Metrics projection(Workbench& bench, std::span<float> leaf, const Item& item, const StepKey& key) {
  ShardStates& states = states_of(bench);
  const Metrics metrics = bench.model->gradient(bench.state.span(), *item.batch, key, bench.change);
  const std::span<const float> left_out = states.left_out(item.shard);
  for (std::size_t i = 0; i < left_out.size(); ++i) bench.change[i] += left_out[i];
  std::copy_n(bench.change.begin(), left_out.size(), states.copy(item.shard).begin());
  bench.powersgd->project(bench.change, bench.q, leaf);
  std::fill(leaf.begin() + static_cast<std::ptrdiff_t>(bench.powersgd->first()), leaf.end(), 0.0f);
  return metrics;
}

// The largest elements are known when all are: nothing is added before.
Metrics largest(Workbench& bench, std::span<float> leaf, const Item& item, const StepKey& key) {
  const Metrics metrics = bench.model->gradient(bench.state.span(), *item.batch, key, leaf);
  states_of(bench).compress(item.shard, key.step, leaf.first(bench.model->layout().parameters));
  return metrics;
}

// What all make of the first sums. These stay as they are: they are part of the step's record.
std::span<const float> orthonormal(Workbench& bench) {
  std::copy_n(bench.gradient.begin(), bench.first.size(), bench.first.begin());
  bench.powersgd->orthonormalize(bench.first);
  return bench.first;
}

}  // namespace

Metrics compressed_gradient(Workbench& bench, std::span<float> leaf, const Item& item, const StepKey& key) {
  return bench.powersgd ? projection(bench, leaf, item, key) : largest(bench, leaf, item, key);
}

// The mean gradient, or what compression makes of it.
std::span<const float> mean_of_step(Workbench& bench) {
  if (!bench.powersgd) return bench.gradient;
  const auto second = std::span<const float>(bench.gradient).subspan(bench.powersgd->first());
  bench.powersgd->change(orthonormal(bench), second, bench.change);
  return bench.change;
}

void keep_mean_of_step(Workbench& bench) {
  if (!bench.powersgd) return;
  bench.powersgd->keep(std::span<const float>(bench.gradient).subspan(bench.powersgd->first()), bench.q);
}

Computed compute_second(Workbench& bench, Accumulator& accumulator, const std::vector<Item>& items,
                        std::uint64_t step, std::uint64_t turn) {
  Computed computed;
  const PowerSgd& powersgd = *bench.powersgd;
  const auto first = orthonormal(bench);
  accumulator.start();
  for (const Item& item : items) {
    if (bench.turn != turn) return computed;
    if (!has_rows(item)) {
      accumulator.skip_leaf();
      continue;
    }
    const auto leaf = accumulator.leaf(), second = leaf.first(powersgd.second());
    const auto gradient = states_of(bench).copy(item.shard);
    powersgd.project_back(gradient, first, second);
    if (const Wire wire = wire_of(bench.job); wire.rounds()) round_to(wire, second.size(), second.data());
    powersgd.leave(first, second, gradient);
    states_of(bench).kept(item.shard, step);
    std::fill(leaf.begin() + static_cast<std::ptrdiff_t>(second.size()), leaf.end(), 0.0f);
    accumulator.add_leaf();
  }
  computed.nodes = accumulator.nodes();
  return computed;
}

}  // namespace muster
