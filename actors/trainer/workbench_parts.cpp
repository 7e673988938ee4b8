// The parts that a workbench's replica may hold: of a sharded optimiser, or the states of shards.
#include "actors/trainer/optimizer_part.hpp"
#include "actors/trainer/shard_states.hpp"
#include "actors/trainer/workbench.hpp"
#include "base/check.hpp"

namespace muster {

namespace {

StatesShape states_shape(const Workbench& bench) {
  const CompressionConfig& compression = bench.job.train.compression;
  return {bench.job.train.shards, bench.model->layout().parameters,
          compression.kind == CompressionKind::top_k ? compression.ratio : 0, wire_of(bench.job)};
}

}  // namespace

std::vector<PartTile> part_tiles(const Workbench& bench, const std::vector<PartHolder>& holders) {
  if (bench.job.train.shards_have_state()) return state_tiles(states_shape(bench), holders);
  const std::size_t elements = bench.state.size();
  return part_tiles(elements, bucket_elements(bench.job, elements, holders.size()), holders);
}

std::size_t elements_in_parts(const Workbench& bench) {
  const std::size_t parameters = bench.model->layout().parameters;
  return bench.job.train.shards_have_state() ? bench.job.train.shards * parameters : parameters;
}

PartSlots part_slots(const Workbench& bench) {
  const std::size_t parameters = bench.model->layout().parameters;
  if (bench.job.train.shards_have_state()) return {slots_of(bench).size(), 1, parameters};
  return {0, make_optimizer(bench.job.train.optimizer, 1)->slots().size(), parameters};
}

std::shared_ptr<Part> make_part(const Workbench& bench, const std::vector<PartHolder>& holders,
                                std::uint32_t slot) {
  if (bench.job.train.shards_have_state())
    return std::make_shared<ShardStates>(states_shape(bench), holders, slot);
  return std::make_shared<OptimizerPart>(part_tiles(bench, holders), slot, bench.model->layout().parameters,
                                         bench.state.span(),
                                         [config = bench.job.train.optimizer](std::size_t elements) {
                                           return make_optimizer(config, elements);
                                         });
}

ShardStates& states_of(Workbench& bench) {
  auto* states = dynamic_cast<ShardStates*>((bench.next_part ? bench.next_part : bench.part).get());
  MUSTER_CHECK(states != nullptr, "a shard is computed without its state");
  return *states;
}

}  // namespace muster
