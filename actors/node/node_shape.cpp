// What a node makes of a view for its data plane.
#include <algorithm>
#include <map>

#include "actors/data_plane/gpu_folds.hpp"
#include "actors/messages/peer_numbers.hpp"
#include "actors/node/node.hpp"
#include "actors/rules/watch/straggler_policy.hpp"
#include "actors/trainer/trainer_state.hpp"
#include "transport/collective/choice/chooser.hpp"

namespace muster {

ReductionShape NodeState::shape_of(const View& view) const {
  ReductionShape shape;
  shape.backup_workers = straggler_policy(job_->cluster).backup_tasks;
  shape.goes_on_unlike = job_->cluster.on_corruption == OnCorruption::report;
  shape.view = view.number;
  shape.shards = job_->train.shards;
  const ReducedElements elements = reduced_elements(*trainer_);
  shape.elements = sums_stay(*trainer_, view) ? 0 : elements.step;
  shape.sketch_elements = elements.sketch;
  shape.wire = wire_of(*job_);
  shape.sharded = job_->train.shard_optimizer;
  shape.sparse = job_->train.compression.kind == CompressionKind::top_k;
  shape.copy_elements = trainer_->model->layout().parameters;
  shape.bucket_elements = bucket_elements(*job_, elements.most(), view.replicas.size());
  std::map<std::string, std::uint32_t> numbers;
  std::vector<std::uint32_t> hosts;
  for (const Member& member : view.replicas) {
    if (member.name == setup_.name) shape.self = static_cast<std::uint32_t>(shape.members.size());
    const std::string host = plane_->host_of(member.address);
    hosts.push_back(numbers.emplace(host, static_cast<std::uint32_t>(numbers.size())).first->second);
    shape.members.push_back(
        {peer_of(member.name), member.incarnation, member.begin, member.end, hosts.back(), 0});
  }
  for (std::size_t i = 0; i < view.replicas.size(); ++i) {
    const auto buddy = std::find_if(view.replicas.begin(), view.replicas.end(), [&](const Member& other) {
      return other.name.slot == view.replicas[i].buddy;
    });
    shape.members[i].buddy = static_cast<std::uint32_t>(buddy - view.replicas.begin());
  }
  const auto wanted = job_->reduce.algorithm;
  shape.algorithm = wanted == ReduceAlgorithm::automatic
                        ? choose_algorithm(std::min(elements.most(), shape.bucket_elements), hosts)
                        : kAlgorithms[static_cast<std::size_t>(wanted) - 1];
  if (view.sums_on_gpus) shape.unit = make_gpu_folds(trainer_->reducing_device);
  shape.shares_memory = plane_->shares_memory() && !shape.unit;
  shape.one_shot_too = wanted == ReduceAlgorithm::automatic && shape.shares_memory &&
                       may_take_one_shot(hosts) && !shape.backup_workers && !shape.sharded;
  return shape;
}

Engine::Bounds NodeState::bounds(const View& view) const {
  // Beside its floats a state has the ledger, a bit a position, and a little for each epoch and shard.
  constexpr std::size_t kPlaceBytes = std::size_t{64} << 20;
  const std::size_t elements = trainer_->state.size();
  const std::size_t slots = slots_of(*trainer_).size();
  const auto positions = static_cast<std::size_t>(std::max<std::int64_t>(view.facts.samples, 0));
  return {view.batch_bytes_max,
          encoded_record_bytes_max(job_->train.shards, trainer_->gradient.host().size()),
          (1 + slots) * elements * sizeof(float) + positions / 4 + kPlaceBytes, Part::given_bytes_max()};
}

std::vector<Member> NodeState::peers_in(const View& view) const {
  std::vector<Member> peers;
  for (const auto* members : {&view.replicas, &view.loaders}) {
    for (const Member& member : *members) {
      const bool strangers = member.name.loader && setup_.name.loader;  // loaders never meet
      if (member.name != setup_.name && !strangers) peers.push_back(member);
    }
  }
  return peers;
}

}  // namespace muster
