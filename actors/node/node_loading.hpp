// What a node loads: as a loader for others, or for its own replica, with the actors that do it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/data_plane/data_plane.hpp"
#include "actors/data_plane/executor.hpp"
#include "actors/messages/messages.hpp"
#include "actors/node/plane/plane_hooks.hpp"
#include "actors/pipeline/memory.hpp"
#include "actors/rules/steps/round_schedule.hpp"
#include "actors/trainer/trainer_state.hpp"
#include "muster/job.hpp"

namespace muster {

struct NodeLoadingSetup {
  NodeName name;
  Job job;
  std::shared_ptr<TrainerState> trainer;
  std::shared_ptr<Executor> executor;  ///< the thread that reads
  std::shared_ptr<DataPlane> plane;
  std::shared_ptr<PlaneBoard> board;
  std::function<void(const std::string&)> notice;  ///< for people, by the coordinator
};

class NodeLoading {
 public:
  NodeLoading(node_actor::pointer self, NodeLoadingSetup setup) : self_(self), setup_(std::move(setup)) {}

  /// What this node can read. A replica that loads only where no loader is left has opened the data to see
  /// that it can.
  void describe(Prepared& prepared);

  /// In this view it serves the replicas that were dealt to it.
  void serve(const View& view);
  /// In this view its replica computes these shards.
  void load(const View& view, std::uint32_t begin, std::uint32_t end);
  /// A shard of another replica, which this one computes in that one's place. Its micro-batches are loaded
  /// one ahead. Then the data plane is to know its actor.
  const shard_actor& in_place_of_another(std::uint32_t shard, const View& view);
  /// A shard of another replica, for an audit: one at a time. What is ready of it is of no use when another
  /// one is audited.
  const shard_actor& borrow(std::uint32_t shard, const View& view);
  /// With the data plane, which brings them what other nodes send.
  void share_actors() const;

  const LoadingActors& actors() const { return actors_; }
  void end();

 private:
  bool loads_itself(const View& view) const { return setup_.name.loader || view.loaders.empty(); }
  loader_actor make_loader(const View& view);
  std::uint32_t depth_for(const View& view, std::uint32_t shards) const;
  shard_actor spawn_shard(std::uint32_t shard_number, std::uint32_t depth, const View& view,
                          std::uint64_t ticket);

  node_actor::pointer self_;
  NodeLoadingSetup setup_;
  LoadingActors actors_;
  ReaderMemory reads_;                     // what reading takes of this node's memory
  bool opens_data_ = false;                // where it loads because no loader process is left
  std::optional<std::uint32_t> borrowed_;  // for an audit
  std::uint64_t borrows_ = 0;
};

}  // namespace muster
