// Hashes by which replicas compare what must be the same bits.
#include "actors/checkpoint/snapshot.hpp"
#include "actors/rules/steps/weight_blocks.hpp"
#include "actors/trainer/trainer_state.hpp"
#include "base/canary.hpp"
#include "gpu/optimizer/block_hash.hpp"
#include "muster/error.hpp"
#include "transport/collective/sums/buckets.hpp"

namespace muster {

namespace {

constexpr std::uint64_t kSlotFactor = 0x100000001b3ull;

// In which order buckets become final is not the same everywhere.
std::uint64_t bucket_hash(std::size_t begin, std::span<const float> values) {
  return block_hash(values) * (2 * begin + 1);
}

}  // namespace

void LeafHash::add(std::span<const float> leaf, ElementRange bucket) {
  const auto values = leaf.subspan(bucket.begin, bucket.count());
  if (!device_.is_gpu()) {
    sum_ += bucket_hash(bucket.begin, values);
    return;
  }
  buckets_.emplace_back(bucket.begin, values.size());
  device_.copy_out(values, std::span<float>(buckets_.back().second));
}

std::uint64_t LeafHash::finish() {
  if (device_.is_gpu()) device_.wait(device_.mark());
  for (const auto& [begin, values] : buckets_) sum_ += bucket_hash(begin, values);
  return sum_;
}

// On a GPU the gradient lies where the mean comes when all gradients are there.
AuditReport audit_shard(TrainerState& trainer, const Item& item, std::uint64_t step,
                        std::size_t bucket_elements) {
  trainer.progress->computes(item.shard);
  const StepKey key{trainer.job.seed, item.cursor.epoch, step, item.shard};
  DeviceFloats memory;
  if (!trainer.device->is_gpu()) memory = DeviceFloats(trainer.device, trainer.state.size());
  const std::span<float> leaf = trainer.device->is_gpu() ? trainer.gradient.gpu().span() : memory.span();
  trainer.model->gradient(trainer.state.span(), *item.batch, key, leaf);
  LeafHash hash(*trainer.device);
  const Buckets buckets(leaf.size(), bucket_elements);
  for (std::size_t bucket = 0; bucket < buckets.count(); ++bucket) hash.add(leaf, buckets[bucket]);
  return {item.shard, 0, hash.finish()};
}

// Nobody waits for a GPU's copy: it is done when the next step's has been waited for.
WeightsHash weigh_block(TrainerState& trainer, std::uint64_t step) {
  if (canary("no-weight-hash")) return {};
  const std::size_t elements = trainer.state.size();
  const std::uint32_t block = weight_block_of(step, elements);
  const ElementRange range = weight_block(block, elements);
  const std::span<const float> values = trainer.state.span().subspan(range.begin, range.count());
  if (!trainer.device->is_gpu()) return {step, block, block_hash(values)};
  WeighedBlock& weighed = trainer.weighed;
  if (weighed.values.size() < values.size())
    weighed.values = PinnedFloats(trainer.device, weight_block(0, elements).count() + 1);
  WeightsHash before = weighed.of;
  if (before.block != WeightsHash::kNone)
    before.hash = block_hash(weighed.values.span().first(weighed.count));
  weighed.of = {step, block, 0};
  weighed.count = values.size();
  trainer.device->copy_out(values, weighed.values.span().first(values.size()));
  return before;
}

// What the optimizer keeps counts, too, as far as all replicas have it.
WeightsHash weigh_all(TrainerState& trainer, std::uint64_t step) {
  if (canary("no-weight-hash")) return {};
  const auto hash_of = [&](std::span<const float> values) {
    return trainer.device->is_gpu() ? block_hash(host_copy(*trainer.device, values)) : block_hash(values);
  };
  std::uint64_t hash = hash_of(trainer.state.span());
  for (const Optimizer::Slot& slot : slots_of(trainer)) hash = hash * kSlotFactor + hash_of(slot.values);
  return {step, WeightsHash::kWhole, hash};
}

WeightsHash weigh(const Snapshot& copy, std::uint64_t step) {
  if (canary("no-weight-hash")) return {};
  std::uint64_t hash = block_hash(copy.state);
  for (const Snapshot::Slot& slot : copy.slots) hash = hash * kSlotFactor + block_hash(slot.values);
  return {step, WeightsHash::kWhole, hash};
}

}  // namespace muster
