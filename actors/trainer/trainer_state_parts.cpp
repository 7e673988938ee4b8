// The parts that a trainer state's replica may hold: of a sharded optimizer, or the states of shards.
#include "actors/trainer/optimizer_part.hpp"
#include "actors/trainer/shard_states.hpp"
#include "actors/trainer/trainer_state.hpp"
#include "base/check.hpp"

namespace muster {

namespace {

StatesShape states_shape(const TrainerState& trainer) {
  const CompressionConfig& compression = trainer.job.train.compression;
  return {trainer.job.train.shards, trainer.model->layout().parameters,
          compression.kind == CompressionKind::top_k ? compression.ratio : 0, wire_of(trainer.job)};
}

}  // namespace

std::vector<PartTile> part_tiles(const TrainerState& trainer, const std::vector<PartHolder>& holders) {
  if (trainer.job.train.shards_have_state()) return state_tiles(states_shape(trainer), holders);
  const std::size_t elements = trainer.state.size();
  return part_tiles(elements, bucket_elements(trainer.job, elements, holders.size()), holders);
}

std::size_t elements_in_parts(const TrainerState& trainer) {
  const std::size_t parameters = trainer.model->layout().parameters;
  return trainer.job.train.shards_have_state() ? trainer.job.train.shards * parameters : parameters;
}

PartSlots part_slots(const TrainerState& trainer) {
  const std::size_t parameters = trainer.model->layout().parameters;
  if (trainer.job.train.shards_have_state()) return {slots_of(trainer).size(), 1, parameters};
  return {0, make_optimizer(trainer.job.train.optimizer, 1)->slots().size(), parameters};
}

std::shared_ptr<Part> make_part(const TrainerState& trainer, const std::vector<PartHolder>& holders,
                                std::uint32_t slot) {
  if (trainer.job.train.shards_have_state())
    return std::make_shared<ShardStates>(states_shape(trainer), holders, slot);
  return std::make_shared<OptimizerPart>(part_tiles(trainer, holders), slot,
                                         trainer.model->layout().parameters, trainer.state.span(),
                                         [config = trainer.job.train.optimizer](std::size_t elements) {
                                           return make_optimizer(config, elements);
                                         });
}

ShardStates& states_of(TrainerState& trainer) {
  auto* states = dynamic_cast<ShardStates*>((trainer.next_part ? trainer.next_part : trainer.part).get());
  MUSTER_CHECK(states != nullptr, "a shard is computed without its state");
  return *states;
}

}  // namespace muster
