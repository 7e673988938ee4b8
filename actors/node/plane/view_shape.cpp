#include "actors/node/plane/view_shape.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "actors/data_plane/gpu_folds.hpp"
#include "actors/messages/peer_numbers.hpp"
#include "actors/rules/stragglers/straggler_policy.hpp"
#include "transport/collective/choice/chooser.hpp"

namespace muster {

ReductionShape shape_of(const View& view, const NodeName& self, const Job& job, const TrainerState& trainer,
                        const DataPlane& plane) {
  ReductionShape shape;
  shape.backup_workers = straggler_policy(job.cluster).backup_tasks;
  shape.goes_on_unlike = job.cluster.on_corruption == OnCorruption::report;
  shape.view = view.number;
  shape.shards = job.train.shards;
  const ReducedElements elements = reduced_elements(trainer);
  shape.elements = sums_stay(trainer, view) ? 0 : elements.step;
  shape.sketch_elements = elements.sketch;
  shape.wire = wire_of(job);
  shape.sharded = job.train.shard_optimizer;
  shape.sparse = job.train.compression.kind == CompressionKind::top_k;
  shape.copy_elements = trainer.model->layout().parameters;
  shape.bucket_elements = bucket_elements(job, elements.most(), view.replicas.size());
  std::map<std::string, std::uint32_t> numbers;
  std::vector<std::uint32_t> hosts;
  for (const Member& member : view.replicas) {
    if (member.name == self) shape.self = static_cast<std::uint32_t>(shape.members.size());
    const std::string host = plane.host_of(member.address);
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
  const auto wanted = job.reduce.algorithm;
  shape.algorithm = wanted == ReduceAlgorithm::automatic
                        ? choose_algorithm(std::min(elements.most(), shape.bucket_elements), hosts)
                        : kAlgorithms[static_cast<std::size_t>(wanted) - 1];
  if (view.sums_on_gpus) shape.unit = make_gpu_folds(trainer.reducing_device);
  shape.shares_memory = plane.shares_memory() && !shape.unit;
  shape.one_shot_too = wanted == ReduceAlgorithm::automatic && shape.shares_memory &&
                       may_take_one_shot(hosts) && !shape.backup_workers && !shape.sharded;
  return shape;
}

Engine::Bounds bounds_of(const View& view, const Job& job, const TrainerState& trainer) {
  // Beside its floats a state has the ledger, a bit a position, and a little for each epoch and shard.
  constexpr std::size_t kPlaceBytes = std::size_t{64} << 20;
  const std::size_t elements = trainer.state.size();
  const std::size_t slots = slots_of(trainer).size();
  const auto positions = static_cast<std::size_t>(std::max<std::int64_t>(view.facts.samples, 0));
  return {view.batch_bytes_max, encoded_record_bytes_max(job.train.shards, trainer.gradient.host().size()),
          (1 + slots) * elements * sizeof(float) + positions / 4 + kPlaceBytes, Part::given_bytes_max()};
}

std::vector<Member> peers_in(const View& view, const NodeName& self) {
  std::vector<Member> peers;
  for (const auto* members : {&view.replicas, &view.loaders}) {
    for (const Member& member : *members) {
      const bool strangers = member.name.loader && self.loader;  // loaders never meet
      if (member.name != self && !strangers) peers.push_back(member);
    }
  }
  return peers;
}

}  // namespace muster
