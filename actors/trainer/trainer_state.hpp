// What a node computes and loads with. Made by the prepare job; from then on each part is used by one thread
// alone: the model, the state and the accumulator by the compute thread, the data by the loading one.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/messages/messages.hpp"
#include "actors/trainer/gradient_memory.hpp"
#include "actors/trainer/low_rank.hpp"
#include "actors/trainer/node_data.hpp"
#include "actors/trainer/not_finite.hpp"
#include "actors/trainer/part.hpp"
#include "gpu/compute_device.hpp"
#include "gpu/optimizer/clipping.hpp"
#include "gpu/optimizer/optimizer.hpp"
#include "gpu/pinned_range.hpp"
#include "muster/job.hpp"
#include "muster/model.hpp"
#include "muster/registry.hpp"

namespace muster {

struct SnapshotView;
class ShardStates;

/// A block of a GPU's weights on its way to the host.
struct WeighedBlock {
  PinnedFloats values;
  WeightsHash of;  ///< without the hash; kNone: nothing is on its way
  std::size_t count = 0;
};

struct TrainerState {
  Job job;
  std::atomic<std::uint64_t> applied{0};  ///< last step applied; any thread may read it
  /// The replica's turn: what was asked for in an earlier one is given up between two shards.
  std::atomic<std::uint64_t> turn{0};
  std::shared_ptr<ProgressBoard> progress = std::make_shared<ProgressBoard>();  ///< what is being done
  bool reads_with_compute = false;  ///< the thread that computes reads the data, too
  // On a replica:
  std::shared_ptr<ComputeDevice> device;  ///< of model, state and optimizer
  /// The same GPU once more, where the sums of a view may lie on GPUs; used by the data plane's thread.
  std::shared_ptr<ComputeDevice> reducing_device;
  std::unique_ptr<Model> model;
  std::unique_ptr<Optimizer> optimizer;  ///< null if it is sharded
  /// Where replicas hold parts: the one that is in use, and the one of a view of which no record is there
  /// yet.
  std::shared_ptr<Part> part, next_part;
  DeviceFloats state;                        ///< parameters, then buffers
  GradientMemory gradient;                   ///< where the step's sums come
  std::unique_ptr<Accumulator> accumulator;  ///< of this replica's shards
  FiniteCheck finite;                        ///< of what is applied
  std::unique_ptr<Clipping> clipping;        ///< of the mean gradient; null: it stays as it is
  std::unique_ptr<SteadyUpdate> steady;      ///< on a GPU, from the first step on: what becomes of the mean
  std::unique_ptr<LowRank> low_rank;         ///< train.compression.name = "powersgd"; else null
  WeighedBlock weighed;  ///< on a GPU: the block of weights that is hashed at the next step
  /// A replica that loads only where no loader process is left opens its data when it is asked for a
  /// micro-batch, and lets go of them when there is a loader again.
  NodeData data;
  CauseFinder cause;  ///< of what is not finite
};

/// How much of a GPU a replica of this job may take.
DeviceMemory device_memory(const Job& job);
/// What is left of that for sums of others, when its own are there.
DeviceMemory memory_for_reducing(const TrainerState& trainer);

/// Makes the replica's half and, if it loads, the loading half. Throws Error.
std::shared_ptr<TrainerState> make_trainer_state(const Job& job, const Registry& registry,
                                                 const std::string& device, bool computes, bool loads);
/// The same on a device that is there already. `sized`, if there is one, hears of the model's layout before
/// vectors of that size are made; what it throws ends it.
std::shared_ptr<TrainerState> make_trainer_state(const Job& job, const Registry& registry,
                                                 std::shared_ptr<ComputeDevice> device, bool computes,
                                                 bool loads,
                                                 const std::function<void(const Layout&)>& sized = nullptr);

/// Whether the sums of a view's steps stay where they were added up: on a GPU, in a view where no other
/// replica adds anything. Then the reduction has no elements, and the record alone goes through it. Only in a
/// job of one replica: a record's hash has elements of the sum, and must be the one that a larger view gave
/// the step.
bool sums_stay(const TrainerState& trainer, const View& view);

/// An error at the micro-batch of one shard.
struct ShardError : std::runtime_error {
  ShardError(std::uint32_t which, const std::string& what) : std::runtime_error(what), shard(which) {}
  std::uint32_t shard;
};

/// Whether the sums of this job's steps can be added up on GPUs, where transports carry their memory.
bool may_sum_on_gpus(const Job& job);

/// Elements that members add up in a step: in its sketch, if it has one, and in its own round.
struct ReducedElements {
  std::size_t sketch = 0;
  std::size_t step = 0;
  std::size_t most() const { return std::max(sketch, step); }
};
ReducedElements reduced_elements(const Job& job, const Layout& layout);
ReducedElements reduced_elements(const TrainerState& trainer);

/// What all replicas hold beside the state: the optimizer's vectors, unless it is sharded, and PowerSGD's q.
std::vector<Optimizer::Slot> slots_of(const TrainerState& trainer);

/// A copy on the host, and that of the state.
std::vector<float> host_copy(ComputeDevice& device, std::span<const float> values);
std::vector<float> host_state(const TrainerState& trainer);

/// Of a view in which this replica has the shards [begin, end).
std::unique_ptr<Accumulator> make_accumulator(const TrainerState& trainer, std::uint32_t begin,
                                              std::uint32_t end);

/// Where the next view's results come: a transfer that was abandoned may still write to what is replaced.
/// Throws Error.
void replace_result(TrainerState& trainer, bool on_gpu);

/// On a GPU: takes what the sums will take, and keeps it for them. So what does not fit is refused before
/// anything starts. Throws Error.
void make_room_for_sums(TrainerState& trainer);

/// Copies of the state and of those slots, and back. A snapshot of another model or optimizer
/// throws Error, and changes nothing. What replicas hold parts of is not copied.
void copy_into(Snapshot& snapshot, TrainerState& trainer);
void restore(TrainerState& trainer, const Snapshot& snapshot);
void restore(TrainerState& trainer, const SnapshotView& snapshot);

/// To a snapshot, or to the beginning, if it is an empty one; with the next part.
/// Throws Error.
void go_back_to(TrainerState& trainer, const Snapshot& snapshot);

/// The parts in a view with these holders, and how many elements move between holders.
std::vector<PartTile> part_tiles(const TrainerState& trainer, const std::vector<PartHolder>& holders);
std::size_t elements_in_parts(const TrainerState& trainer);
PartSlots part_slots(const TrainerState& trainer);
/// Of the view that is in force, where shards have states.
ShardStates& states_of(TrainerState& trainer);
/// The part of replica `slot`. The trainer state outlives it.
std::shared_ptr<Part> make_part(const TrainerState& trainer, const std::vector<PartHolder>& holders,
                                std::uint32_t slot);

/// The learning rates that a job asks for.
std::unique_ptr<Schedule> make_schedule(const ScheduleConfig& config);

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, std::size_t parameters,
                                          std::shared_ptr<ComputeDevice> device = make_host_device());

Wire wire_of(const Job& job);

/// Floats of a bucket of the gradient, in a view of so many replicas.
std::size_t bucket_elements(const Job& job, std::size_t elements, std::size_t replicas);

/// Sums of this node's shards, final in these elements while the rest is still computed, and on the host.
using BucketDone = std::function<void(const std::vector<NodeValue>& sums, ElementRange bucket)>;
struct Offering {
  std::size_t bucket_elements = 0;  ///< 0: all are one
  BucketDone done = nullptr;        ///< hears of buckets that are complete before the last one is
  bool stays = false;               ///< the sums are for this replica alone (sums_stay): none is said
  std::optional<std::uint32_t> audited = std::nullopt;  ///< the shard whose gradient is hashed
};

/// Gradients of one training step: the items of the accumulator's shards, ascending. Fills the accumulator,
/// unless the replica's turn is over before; then the answer is of no use.
Computed compute_step(TrainerState& trainer, Accumulator& accumulator, const std::vector<Item>& items,
                      std::uint64_t step, std::uint64_t turn, const Offering& offering = {});

// Bits that are compared (trainer_state_bits.cpp):

/// A hash of the gradient of one shard, bucket by bucket, as it is added up.
class LeafHash {
 public:
  explicit LeafHash(ComputeDevice& device) : device_(device) {}
  /// Before the bucket is added to others. Called by one thread at a time.
  void add(std::span<const float> leaf, ElementRange bucket);
  std::uint64_t finish();

 private:
  ComputeDevice& device_;
  std::vector<std::pair<std::size_t, std::vector<float>>> buckets_;  // of a GPU: copies
  std::uint64_t sum_ = 0;
};

/// The same of a shard of another replica, computed here, in the order of the work. The state stays.
AuditReport audit_shard(TrainerState& trainer, const Item& item, std::uint64_t step,
                        std::size_t bucket_elements);

/// A block of the weights as they stand behind this step, hashed. On a GPU that of the step before: this
/// one's is on its way.
WeightsHash weigh_block(TrainerState& trainer, std::uint64_t step);
WeightsHash weigh_all(TrainerState& trainer, std::uint64_t step);
/// The same of a copy of them (copy_into).
WeightsHash weigh(const Snapshot& copy, std::uint64_t step);

/// Whether it adds something to a step.
inline bool has_rows(const Item& item) {
  return !item.ended && item.batch->rows > 0;
}

// Where gradients are compressed (trainer_state_compression.cpp):

/// What a shard adds to the step's first sums; the shard's new state, or what it will follow from, is made.
Metrics compressed_gradient(TrainerState& trainer, std::span<float> leaf, const Item& item,
                            const StepKey& key);
/// The mean gradient of the step that is in `gradient`, or what follows from its sums.
std::span<const float> mean_of_step(TrainerState& trainer);
/// What the next step's compression takes from it.
void keep_mean_of_step(TrainerState& trainer);
/// PowerSGD's second sums of the step of which compute_step made the first, whose mean is in `gradient` now.
Computed compute_second(TrainerState& trainer, Accumulator& accumulator, const std::vector<Item>& items,
                        std::uint64_t step, std::uint64_t turn);

/// Adds the sums of one more evaluation step to `sums`, one per item of `items` that has not ended.
void compute_evaluation(TrainerState& trainer, const std::vector<Item>& items,
                        std::vector<ShardMetrics>& sums);

/// Copies a mean that is on the GPU to the host, and waits for it.
void mean_to_host(TrainerState& trainer);

/// Applies the step of this record. `wanted`: the host is to have its mean, for others. The part that
/// this replica holds, if there is one, follows; who only observes has none. Returns what in it is not
/// finite: then, with train.not_finite = "stop", nothing has changed. The norm of its gradient is known then,
/// if it is clipped (trainer_state_update.cpp).
NotFinite apply_step(TrainerState& trainer, const RoundRecord& record, MeanIs mean = MeanIs::in_gradient,
                     bool wanted = false);

}  // namespace muster
