// What a node loads: as a loader for others, or for itself.
#include "actors/events/event.hpp"
#include "actors/loading/loader.hpp"
#include "actors/messages/peer_numbers.hpp"
#include "actors/node/node.hpp"
#include "actors/pipeline/memory.hpp"
#include "actors/trainer/trainer_state.hpp"
#include "base/canary.hpp"

namespace muster {

void NodeState::install_loader(const View& view) {
  end_loading();
  actors_.loader = self_->spawn(loader, trainer_, loading_, board_->node);
  for (const Member& member : view.replicas) {
    if (view.loader_of(member.name.slot).name != setup_.name) continue;
    const PeerId peer = peer_of(member.name);
    actors_.remote_shards[peer] = self_->spawn(remote_shard, plane_, view.number, peer);
  }
  install_engine(view, peers_in(view), nullptr);
  const Installed installed{setup_.name, view.number};
  if (canary("loader-installed-early")) return self_->send(setup_.coordinator, installed);
  // A demand that came before would be of another view.
  plane_->post([node = board_->node, installed](Engine& engine) {
    if (engine.view() == installed.view) caf::anon_send(node, installed);
  });
}

// A replica that loads only where no loader is left has opened the data to see that it can.
void NodeState::report_what_it_reads(const Ready& message, Prepared& prepared) {
  if (!message.cannot_read.empty()) {
    const std::string text = setup_.name.text() + " cannot load for itself: " + message.cannot_read;
    self_->send(setup_.coordinator, Raised{make_event("notice", {{"text", text}})});
  }
  if (!trainer_->data.is_open()) return;
  prepared.loads = true;
  prepared.facts = trainer_->data.facts();
  reads_ = {job_->data.memory_bytes, trainer_->data.reader().resident_bytes(),
            trainer_->data.reader().micro_batch_bytes_max(), 0, job_->data.prefetch};
  if (!setup_.name.loader && job_->cluster.loaders > 0) trainer_->data.close();
}

loader_actor NodeState::make_loader(const View& view) {
  if (loads_itself(view)) {
    opens_data_ = true;
    return self_->spawn(loader, trainer_, loading_, board_->node);
  }
  if (std::exchange(opens_data_, false)) loading_->submit([trainer = trainer_] { trainer->data.close(); });
  if (view.loaders.empty()) return {};  // the last view of a run: no step is made in it
  return self_->spawn(remote_loader, plane_, view.number, peer_of(view.loader_of(setup_.name.slot).name));
}

// The fewer replicas are left, the more each of them loads. A run that has begun is worth more than a bound
// that was enough for those it began with.
std::uint32_t NodeState::prefetch_depth_for(const View& view, std::uint32_t shards) const {
  if (!loads_itself(view)) return job_->data.prefetch;
  if (view.last) return 1;  // no step is made in it, and nothing is read
  ReaderMemory demand = reads_;
  demand.shards = shards;
  const std::uint64_t least = memory_needed(demand, 1);
  if (least <= demand.memory_bytes) return prefetch_depth(demand);
  const std::string text = setup_.name.text() + " loads for " + std::to_string(shards) +
                           " shards now, which takes " + std::to_string(least) +
                           " bytes at least, and data.memory is " + std::to_string(demand.memory_bytes) +
                           ": it goes on with one micro-batch a shard; more replicas, or loader processes on "
                           "other hosts, make it less";
  self_->send(setup_.coordinator, Raised{make_event("notice", {{"text", text}})});
  return 1;
}

void NodeState::end_loading() {
  const auto end = [](const auto& actor) { caf::anon_send_exit(actor, caf::exit_reason::user_shutdown); };
  for (const auto& [number, actor] : actors_.shards) end(actor);
  for (const auto& [peer, actor] : actors_.remote_shards) end(actor);
  if (actors_.loader) end(actors_.loader);
  actors_.shards.clear();
  actors_.remote_shards.clear();
  borrowed_.reset();
  actors_.loader = nullptr;
}

}  // namespace muster
