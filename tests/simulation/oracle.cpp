#include "tests/simulation/oracle.hpp"

#include <optional>
#include <vector>

#include "muster/actors/pipeline/stream.hpp"
#include "muster/actors/workbench.hpp"
#include "muster/gpu/state_hash.hpp"

namespace muster::simulation {

namespace {

using Leaves = std::vector<std::optional<std::vector<float>>>;

// The sum of leaves [first, first + width) in the order of the contract: left plus right, absent ones pass
// through.
std::optional<std::vector<float>> sum(const Leaves& leaves, std::size_t first, std::size_t width) {
  if (first >= leaves.size()) return std::nullopt;
  if (width == 1) return leaves[first];
  auto left = sum(leaves, first, width / 2);
  auto right = sum(leaves, first + width / 2, width / 2);
  if (!left) return right;
  if (!right) return left;
  for (std::size_t i = 0; i < left->size(); ++i) (*left)[i] = (*left)[i] + (*right)[i];
  return left;
}

std::size_t power_of_two_from(std::size_t shards) {
  std::size_t width = 1;
  while (width < shards) width *= 2;
  return width;
}

}  // namespace

OracleResult train_plainly(const Job& job, const Registry& registry) {
  const auto model = registry.make_model(job.model.name, job.model.options, {"cpu", 1});
  Dataset data = registry.make_source(job.data.source, job.data.options);
  BatchReader reader(job, data);
  std::vector<float> state(model->layout().total());
  model->initialize(job.seed, state);
  const std::size_t parameters = model->layout().parameters;
  const auto optimizer = make_optimizer(job.train.optimizer, parameters);
  const std::uint64_t passes = job.train.steps ? job.data.repeat.value_or(1) : job.train.epochs.value_or(1);

  OracleResult result;
  for (std::uint64_t epoch = 1; passes == 0 || epoch <= passes; ++epoch) {
    for (std::uint64_t step = 0;; ++step) {
      if (job.train.steps && result.steps == *job.train.steps) break;
      Leaves leaves(job.train.shards);
      double weight = 0;
      for (std::uint32_t shard = 0; shard < job.train.shards; ++shard) {
        const Item item = reader.read(shard, {Phase::train, epoch, step});
        if (item.ended) continue;
        leaves[shard].emplace(state.size());
        model->gradient(state, *item.batch, {job.seed, epoch, result.steps + 1, shard}, *leaves[shard]);
        weight += model->weight(*item.batch);
      }
      if (weight == 0) break;
      auto gradient = *sum(leaves, 0, power_of_two_from(leaves.size()));
      for (float& value : gradient) value = value / static_cast<float>(weight);
      optimizer->update(++result.steps, std::span(state).first(parameters),
                        std::span(gradient).first(parameters));
      for (std::size_t i = parameters; i < state.size(); ++i) state[i] += gradient[i];
    }
    if (job.train.steps && result.steps == *job.train.steps) break;
  }
  result.weights_sha256 = state_sha256(state);
  return result;
}

}  // namespace muster::simulation
