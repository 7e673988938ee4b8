// A step, within one node: these hold pointers, and never leave their process. Part of messages.hpp, which is
// the one to read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <caf/actor_control_block.hpp>

#include "actors/messages/end_messages.hpp"
#include "actors/messages/item.hpp"
#include "actors/messages/view.hpp"
#include "muster/progress.hpp"
#include "transport/collective/algorithms/algorithm.hpp"
#include "transport/collective/rounds/liveness.hpp"
#include "transport/collective/rounds/round.hpp"
#include "transport/collective/sums/accumulator.hpp"
#include "transport/transport.hpp"

namespace muster {

class Part;
struct Snapshot;
struct TrainerState;

/// replica -> shard. Owed: MicroBatch with this cursor, when it is there.
struct Need {
  Cursor cursor;
};

/// shard -> loader, at most data.prefetch at once (a credit each). Owed: Delivery of the same ticket, or
/// Trouble. A loader elsewhere that owes it and stands still for cluster.straggler.stuck_after is lost
/// (rules/watch/loader_watch.hpp), and the next view asks another one.
struct Demand {
  std::uint32_t shard = 0;
  Cursor cursor;
  std::uint64_t ticket = 0;
};

/// loader -> shard.
struct Delivery {
  std::uint64_t ticket = 0;
  Item item;
};

/// data plane -> shard: a Delivery from a loader on another node, as it came.
struct RemoteDelivery {
  std::uint64_t ticket = 0;
  std::shared_ptr<const std::vector<std::byte>> payload;
};

/// shard -> replica. With item.ended set it is the shard's `exhausted`; with fewer rows than a full batch,
/// its `short`.
struct MicroBatch {
  Item item;
};

/// replica -> reducer: opens a round; this member's header goes out. Owed: RoundDone or Trouble.
struct Open {
  std::uint32_t view = 0;
  RoundHeader header;
  float* result = nullptr;  ///< elements floats, free until RoundDone; null unless it is a training round
  std::size_t elements = 0;
  std::shared_ptr<const void> keep;  ///< what `result` lies in
};

/// compute thread -> replica: gradients or evaluation of this node's shards are done.
struct Computed {
  std::uint64_t turn = 0;  ///< of the replica that asked; what it asked for before a view change is ignored
  std::vector<NodeValue> nodes;
  std::vector<ShardMetrics> metrics;
  NodeId backup_task = 0;                         ///< not its own part, but this node of another one
  std::shared_ptr<const void> keep;               ///< what `nodes` of a backup task point into
  std::string error;                              ///< not empty: the model failed
  std::optional<std::uint32_t> error_shard = {};  ///< with the micro-batch of this shard
  std::vector<AuditReport> audits;                ///< of the own shard that another replica computes, too
};

/// replica, from within its computing -> reducer: buckets of what this member adds to the open round, final
/// while the rest is still computed. Contribute follows, with all of it.
struct Offer {
  std::uint32_t view = 0;
  std::uint64_t round = 0;
  std::vector<NodeValue> nodes;      ///< final in `elements`; the same in each Offer of a round
  ElementRange elements;             ///< whole buckets (transport/collective/sums/buckets.hpp)
  std::shared_ptr<const void> keep;  ///< what `nodes` point into
};

/// replica -> reducer: what this member adds to the open round.
struct Contribute {
  std::uint32_t view = 0;
  std::uint64_t round = 0;
  std::vector<NodeValue> nodes;
  std::vector<ShardMetrics> metrics;
  std::shared_ptr<const void> keep;  ///< what `nodes` point into
  NodeId backup_task = 0;            ///< if not 0: the one node, of another member, that this is a backup of
  std::vector<AuditReport> audits = {};
};

/// node -> replica that waits in an open round: computes a node of a late replica's shards, too
/// (cluster.straggler.action = "speculate"). Owed: a Contribute of that backup task, unless the round is over
/// before.
struct RunBackupTask {
  std::uint32_t view = 0;
  std::uint64_t round = 0;
  NodeId node = 0;
  std::uint32_t begin = 0;  ///< the shards below the node
  std::uint32_t end = 0;
  std::vector<caf::strong_actor_ptr> shards;  ///< shard_actors, ascending
};

/// reducer -> replica: every member holds this record now; the result is in place.
struct RoundDone {
  std::shared_ptr<const RoundRecord> record;
};

/// What in a step is NaN or Inf.
struct NotFinite {
  std::optional<std::uint32_t> shard;  ///< the first one whose loss is
  std::optional<std::size_t> element;  ///< the first one of the flat vector
  double value = 0;                    ///< of the element; without one, of the loss

  explicit operator bool() const { return shard || element; }
};

/// compute thread -> replica: the update has been applied, unless `not_finite` holds something and ends the
/// run.
struct Updated {
  std::uint64_t turn = 0;
  std::string error;
  NotFinite not_finite;
  double gradient_norm = 0;  ///< before it was clipped; 0 without train.clip_norm
  WeightsHash weights;       ///< of a block of what it has become
};

/// compute thread -> replica: the state's hash.
struct Hashed {
  std::uint64_t turn = 0;
  std::string state_sha256;
  std::uint64_t bytes = 0;  ///< used by `muster bench`
  std::string error;
};

/// data plane -> reducer -> replica: no frame of this view changes anything any more.
struct ViewClosed {
  std::uint32_t view = 0;
  bool result_begun = false;      ///< of a round that was not finished: it is partly in place
  bool result_abandoned = false;  ///< and may still be written to, for ever
};

/// data plane -> node, every heartbeat while a round waits for others: what this member sees of them.
struct Stalled {
  RoundSight sight;
};

/// data plane -> node, every heartbeat while its replica waits for a loader elsewhere: what it sees of it.
struct Starved {
  LoadingSight sight;
};

/// replica -> node: it has stopped, and holds so many records.
struct Halted {
  std::uint32_t view = 0;
  std::uint64_t records = 0;
  std::uint64_t kept_from = 0;
  std::uint32_t took = 0;
  bool proven = false;
  bool trained = false;
  PhaseTimes phases = {};
  Traffic traffic = {};
};

/// node -> replica: its part in a new view. Owed: nothing before Begin.
struct Assignment {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::vector<caf::strong_actor_ptr> shards;  ///< shard_actors, ascending
  caf::strong_actor_ptr reducer;
  View view;
  Algorithm algorithm = Algorithm::direct;  ///< of the view's reduction
  std::shared_ptr<Part> part;               ///< where replicas hold parts (part.hpp); else null
};

/// node -> replica: it takes part from outside the view, until an Assignment comes.
struct Observing {
  View view;
  caf::strong_actor_ptr reducer;
  PeerId donor = 0;
};

/// any actor of a node -> its node: this node cannot go on. It tells the coordinator, at once.
struct Trouble {
  std::string reason;
  std::vector<Event> events = {};  ///< as in Failing, and so are these
  ErrorPlace at = {};
  bool ends_run = false;
};

/// prepare job -> node. Holds the node's trainer state; see trainer_state.hpp.
struct Ready {
  std::shared_ptr<TrainerState> trainer;
  std::shared_ptr<const Snapshot> resumed;  ///< to go on from; null: the beginning
  std::string probe_sha256, computes_with;  ///< as in Prepared
  std::string cannot_read;                  ///< why this replica cannot load where no loader is left
  std::string error;
};

}  // namespace muster
