#include "actors/node/node_loading.hpp"

#include <utility>

#include "actors/loading/loader.hpp"
#include "actors/loading/shard.hpp"
#include "actors/messages/peer_numbers.hpp"

namespace muster {

void NodeLoading::describe(Prepared& prepared) {
  auto& data = setup_.trainer->data;
  if (!data.is_open()) return;
  prepared.loads = true;
  prepared.facts = data.facts();
  reads_ = {setup_.job.data.memory_bytes, data.reader().resident_bytes(),
            data.reader().micro_batch_bytes_max(), 0, setup_.job.data.prefetch};
  if (!setup_.name.loader && setup_.job.cluster.loaders > 0) data.close();
}

void NodeLoading::serve(const View& view) {
  end();
  actors_.loader = self_->spawn(loader, setup_.trainer, setup_.executor, setup_.board->node);
  for (const Member& member : view.replicas) {
    if (view.loader_of(member.name.slot).name != setup_.name) continue;
    const PeerId peer = peer_of(member.name);
    actors_.remote_shards[peer] = self_->spawn(remote_shard, setup_.plane, view.number, peer);
  }
}

void NodeLoading::load(const View& view, std::uint32_t begin, std::uint32_t end) {
  this->end();
  const std::uint32_t depth = depth_for(view, end - begin);
  actors_.loader = make_loader(view);
  for (std::uint32_t shard = begin; shard < end; ++shard)
    actors_.shards[shard] = spawn_shard(shard, depth, view, 0);
}

const shard_actor& NodeLoading::in_place_of_another(std::uint32_t shard, const View& view) {
  shard_actor& actor = actors_.shards[shard];
  if (!actor) actor = spawn_shard(shard, 1, view, 0);
  return actor;
}

const shard_actor& NodeLoading::borrow(std::uint32_t shard, const View& view) {
  if (borrowed_ && *borrowed_ != shard) {
    caf::anon_send_exit(actors_.shards[*borrowed_], caf::exit_reason::user_shutdown);
    actors_.shards.erase(*borrowed_);
  }
  shard_actor& actor = actors_.shards[shard];
  if (!actor) {
    // What was asked for an audit before may still be answered, and is of no use here.
    constexpr std::uint64_t kTicketsMax = std::uint64_t{1} << 32;
    actor = spawn_shard(shard, 1, view, ++borrows_ * kTicketsMax);
    borrowed_ = shard;
    share_actors();
  }
  return actor;
}

void NodeLoading::share_actors() const {
  setup_.plane->post([board = setup_.board, actors = actors_](Engine&) { board->loading = actors; });
}

void NodeLoading::end() {
  const auto end_of = [](const auto& actor) { caf::anon_send_exit(actor, caf::exit_reason::user_shutdown); };
  for (const auto& [number, actor] : actors_.shards) end_of(actor);
  for (const auto& [peer, actor] : actors_.remote_shards) end_of(actor);
  if (actors_.loader) end_of(actors_.loader);
  actors_.shards.clear();
  actors_.remote_shards.clear();
  borrowed_.reset();
  actors_.loader = nullptr;
}

loader_actor NodeLoading::make_loader(const View& view) {
  if (loads_itself(view)) {
    opens_data_ = true;
    return self_->spawn(loader, setup_.trainer, setup_.executor, setup_.board->node);
  }
  if (std::exchange(opens_data_, false))
    setup_.executor->submit([trainer = setup_.trainer] { trainer->data.close(); });
  if (view.loaders.empty()) return {};  // the last view of a run: no step is made in it
  return self_->spawn(remote_loader, setup_.plane, view.number,
                      peer_of(view.loader_of(setup_.name.slot).name));
}

// The fewer replicas are left, the more each of them loads. A run that has begun is worth more than a bound
// that was enough for those it began with.
std::uint32_t NodeLoading::depth_for(const View& view, std::uint32_t shards) const {
  if (!loads_itself(view)) return setup_.job.data.prefetch;
  if (view.last) return 1;  // no step is made in it, and nothing is read
  ReaderMemory demand = reads_;
  demand.shards = shards;
  const std::uint64_t least = memory_needed(demand, 1);
  if (least <= demand.memory_bytes) return prefetch_depth(demand);
  setup_.notice(setup_.name.text() + " loads for " + std::to_string(shards) + " shards now, which takes " +
                std::to_string(least) + " bytes at least, and data.memory is " +
                std::to_string(demand.memory_bytes) +
                ": it goes on with one micro-batch a shard; more replicas, or loader processes on "
                "other hosts, make it less");
  return 1;
}

shard_actor NodeLoading::spawn_shard(std::uint32_t shard_number, std::uint32_t depth, const View& view,
                                     std::uint64_t ticket) {
  const RoundScheduleOptions schedule = round_schedule_options(setup_.job, view.facts.has_test);
  return self_->spawn(shard, shard_number, depth, schedule, actors_.loader, setup_.board->node, ticket);
}

}  // namespace muster
