// The message page: every message and actor interface, in the order in which they occur: the whole system.
//
// Each message: who sends it to whom; what the receiver owes; by when. "Within the node" marks messages that
// never leave their process: they hold pointers. Gradients and micro-batches between nodes are frames of the
// data plane (transport/frame.hpp), never messages.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <caf/all.hpp>

#include "muster/actors/epoch_end.hpp"
#include "muster/actors/event.hpp"
#include "muster/actors/message.hpp"
#include "muster/actors/pipeline/item.hpp"
#include "muster/actors/view.hpp"
#include "muster/transport/collective/accumulator.hpp"
#include "muster/transport/collective/liveness.hpp"
#include "muster/transport/collective/round.hpp"
#include "muster/transport/transport.hpp"

namespace muster {

struct Snapshot;
enum class SnapshotUse : std::uint8_t;

// ------------------------------------------------------------ 1. coming together

/// node -> coordinator, once it runs. Owed: Welcome, or Stop with the reason; at once.
struct Join {
  std::uint16_t protocol = 0;
  NodeName name;
  std::int64_t pid = 0;
  std::uint64_t incarnation = 0;

  static auto fields(Join& x) { return std::tie(x.protocol, x.name, x.pid, x.incarnation); }
};
MUSTER_MESSAGE(Join)

/// coordinator -> node. Owed: Prepared, within cluster.start_patience.
struct Welcome {
  std::string job_toml;  ///< the whole job; a node needs no file but the data
  std::string device;
  bool loader_thread = false;  ///< whether loading has a thread of its own

  static auto fields(Welcome& x) { return std::tie(x.job_toml, x.device, x.loader_thread); }
};
MUSTER_MESSAGE(Welcome)

/// node -> coordinator: data opened, model built, transport up. Owed: Install when all have said so.
struct Prepared {
  NodeName name;
  std::string address;       ///< of the transport
  std::string transport;     ///< what carries the bytes, for people
  std::string state_sha256;  ///< of the initial state; empty on a loader
  bool loads = false;        ///< whether this node reads the data, and `facts` holds
  DataFacts facts;
  std::uint64_t elements = 0;
  std::uint64_t batch_bytes_max = 0;  ///< largest encoded micro-batch

  static auto fields(Prepared& x) {
    return std::tie(x.name, x.address, x.transport, x.state_sha256, x.loads, x.facts, x.elements,
                    x.batch_bytes_max);
  }
};
MUSTER_MESSAGE(Prepared)

/// coordinator -> node. Owed: Installed, once every pair of members has greeted each other; within
/// start_patience.
struct Install {
  View view;

  static auto fields(Install& x) { return std::tie(x.view); }
};
MUSTER_MESSAGE(Install)

/// node -> coordinator.
struct Installed {
  NodeName name;
  std::uint32_t view = 0;

  static auto fields(Installed& x) { return std::tie(x.name, x.view); }
};
MUSTER_MESSAGE(Installed)

/// coordinator -> node: the view is over, because these members are lost. The node drops every later frame of
/// it and applies nothing until a newer view is installed. Owed: Closed.
struct Close {
  std::uint32_t view = 0;
  std::vector<NodeName> lost;

  static auto fields(Close& x) { return std::tie(x.view, x.lost); }
};
MUSTER_MESSAGE(Close)

/// node -> coordinator: a promise to apply nothing more of this view. Owed: Install of the next one.
struct Closed {
  NodeName name;
  std::uint32_t view = 0;
  std::uint64_t records = 0;  ///< that this replica holds

  static auto fields(Closed& x) { return std::tie(x.name, x.view, x.records); }
};
MUSTER_MESSAGE(Closed)

/// coordinator -> node, when all have installed the view: training begins, or goes on. From here on no step
/// waits for the coordinator.
struct Begin {
  std::uint32_t view = 0;

  static auto fields(Begin& x) { return std::tie(x.view); }
};
MUSTER_MESSAGE(Begin)

// ------------------------------------------------------------ 2. a step, within one node

/// replica -> shard. Owed: MicroBatch with this cursor, when it is there.
struct Need {
  Cursor cursor;
};

/// shard -> loader, at most data.prefetch at once (a credit each). Owed: Delivery of the same ticket, or
/// Trouble.
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
};

/// compute thread -> replica: gradients or evaluation of this node's shards are done.
struct Computed {
  std::uint64_t turn = 0;  ///< of the replica that asked; what it asked for before a view change is ignored
  std::vector<NodeValue> nodes;
  std::vector<ShardMetrics> metrics;
  std::string error;  ///< not empty: the model failed
};

/// replica -> reducer: what this member adds to the open round.
struct Contribute {
  std::uint32_t view = 0;
  std::uint64_t round = 0;
  std::vector<NodeValue> nodes;
  std::vector<ShardMetrics> metrics;
  std::shared_ptr<const void> keep;  ///< what `nodes` point into
};

/// reducer -> replica: every member holds this record now; the result is in place.
struct RoundDone {
  std::shared_ptr<const RoundRecord> record;
};

/// compute thread -> replica: the update has been applied.
struct Updated {
  std::uint64_t turn = 0;
  std::string error;
};

/// compute thread -> replica: the state's hash, and where it was written to if it was.
struct Hashed {
  std::uint64_t turn = 0;
  std::string state_sha256;
  std::string path;
  std::uint64_t bytes = 0;
  std::string error;
};

/// compute thread -> replica: a copy of all that it was between two rounds; of any turn.
struct Snapped {
  std::uint64_t turn = 0;
  SnapshotUse use{};
  std::shared_ptr<const Snapshot> snapshot;
  std::string error;
};

/// data plane -> reducer -> replica: no frame of this view changes anything any more.
struct ViewClosed {
  std::uint32_t view = 0;
};

/// data plane -> node, every heartbeat while a round waits for others: what this member sees of them.
struct Stalled {
  RoundSight sight;
};

/// replica -> node: it has stopped, and holds so many records.
struct Halted {
  std::uint32_t view = 0;
  std::uint64_t records = 0;
};

/// node -> replica: its part in a new view. Owed: nothing before Begin.
struct Assignment {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::vector<caf::strong_actor_ptr> shards;  ///< shard_actors, ascending
  caf::strong_actor_ptr reducer;
  View view;
};

/// replica -> reducer: gives a record to a member that missed it.
struct HandOut {
  std::uint32_t view = 0;
  PeerId to = 0;
  std::shared_ptr<std::vector<std::byte>> payload;
};

/// data plane -> reducer -> replica: the record that it missed, from the view's donor.
struct HandedOut {
  std::shared_ptr<const std::vector<std::byte>> payload;
};

/// any actor of a node -> its node: this node cannot go on. It tells the coordinator, at once.
struct Trouble {
  std::string reason;
};

/// prepare job -> node. Holds the node's workbench; see workbench.hpp.
struct Workbench;
struct Ready {
  std::shared_ptr<Workbench> bench;
  std::string error;
};

// ------------------------------------------------------------ 3. telling others

/// any -> coordinator: something that a user must be able to see.
struct Raised {
  Event event;

  static auto fields(Raised& x) { return std::tie(x.event); }
};
MUSTER_MESSAGE(Raised)

/// replica 0 -> coordinator, at most five a second.
struct Progress {
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  std::uint64_t samples = 0;
  double loss = 0;  ///< mean of the last step

  static auto fields(Progress& x) { return std::tie(x.epoch, x.step, x.samples, x.loss); }
};
MUSTER_MESSAGE(Progress)

/// replica -> coordinator, after its last step. Owed: Stop.
struct ReplicaDone {
  std::uint32_t slot = 0;
  std::uint64_t steps = 0;
  std::uint64_t samples = 0;
  std::string state_sha256;
  Phases phases;
  std::int64_t steps_asked = -1;  ///< train.steps, if the data ended before
  std::string checkpoint;         ///< file, if this replica wrote one
  std::string note;               ///< for the report's reader; used by `muster bench`

  static auto fields(ReplicaDone& x) {
    return std::tie(x.slot, x.steps, x.samples, x.state_sha256, x.phases, x.steps_asked, x.checkpoint,
                    x.note);
  }
};
MUSTER_MESSAGE(ReplicaDone)

/// node -> coordinator, every cluster.detect.heartbeat.
struct Heartbeat {
  NodeName name;
  std::uint64_t step = 0;      ///< last step applied
  std::uint64_t measured = 0;  ///< the step that `seconds` is of; 0: none yet
  double seconds = 0;          ///< for data and computation of its shards at that step

  static auto fields(Heartbeat& x) { return std::tie(x.name, x.step, x.measured, x.seconds); }
};
MUSTER_MESSAGE(Heartbeat)

// ------------------------------------------------------------ 4. failure and the end

/// node -> coordinator: it cannot go on. If another node is to blame (its connection failed), `peer` names
/// it.
struct Failing {
  NodeName name;
  std::uint32_t view = 0;
  bool peer_known = false;
  NodeName peer;
  std::string reason;

  static auto fields(Failing& x) { return std::tie(x.name, x.view, x.peer_known, x.peer, x.reason); }
};
MUSTER_MESSAGE(Failing)

/// node -> coordinator: replica `slot` holds up a step for longer than cluster.straggler.patience, or its own
/// data does. Becomes the event `late`; evicts only if the job says so, or if it is stuck.
struct HeldUp {
  NodeName name;  ///< who waits
  std::uint32_t view = 0;
  std::uint64_t step = 0;
  std::uint32_t slot = 0;
  std::string cause;  ///< "data", "compute" or "link"
  std::string waited_for;
  double waited_ms = 0;
  bool stuck = false;        ///< its progress counter stands still for stuck_after
  bool link_broken = false;  ///< then there is a complaint, too

  static auto fields(HeldUp& x) {
    return std::tie(x.name, x.view, x.step, x.slot, x.cause, x.waited_for, x.waited_ms, x.stuck,
                    x.link_broken);
  }
};
MUSTER_MESSAGE(HeldUp)

/// launcher -> coordinator: a child process has ended.
struct ChildEnded {
  NodeName name;
  std::int64_t pid = 0;
  std::string how;

  static auto fields(ChildEnded& x) { return std::tie(x.name, x.pid, x.how); }
};
MUSTER_MESSAGE(ChildEnded)

/// launcher or any subscriber -> coordinator: end the run; its outcome is `interrupted`.
struct StopRequest {
  std::string reason;

  static auto fields(StopRequest& x) { return std::tie(x.reason); }
};
MUSTER_MESSAGE(StopRequest)

/// coordinator -> node: the end. The node lets go of everything and terminates; within 300 ms its process is
/// ended by force.
struct Stop {
  bool good = false;  ///< after a completed run
  std::string reason;

  static auto fields(Stop& x) { return std::tie(x.good, x.reason); }
};
MUSTER_MESSAGE(Stop)

/// An actor to itself: look at the clock.
struct Tick {
  static auto fields(Tick&) { return std::tuple<>{}; }
};
MUSTER_MESSAGE(Tick)

}  // namespace muster

#include "muster/actors/message_ids.hpp"  // needs the messages above, and is needed by the interfaces below

namespace muster {

// ------------------------------------------------------------ the actors

/// Receives every event as it happens. May answer the sender (a coordinator_actor) with StopRequest.
using observer_actor = caf::typed_actor<caf::reacts_to<Event>>;

/// Keeps the roster, decides views, collects what is told. Not on the path of a step.
using coordinator_actor =
    caf::typed_actor<caf::reacts_to<Join>, caf::reacts_to<Prepared>, caf::reacts_to<Installed>,
                     caf::reacts_to<Closed>, caf::reacts_to<Raised>, caf::reacts_to<Progress>,
                     caf::reacts_to<EpochEnd>, caf::reacts_to<ReplicaDone>, caf::reacts_to<Heartbeat>,
                     caf::reacts_to<HeldUp>, caf::reacts_to<Failing>, caf::reacts_to<ChildEnded>,
                     caf::reacts_to<StopRequest>, caf::reacts_to<Tick>>;

/// One process (or one in-process replica): makes and ends what works in it.
using node_actor = caf::typed_actor<
    caf::reacts_to<Welcome>, caf::reacts_to<Ready>, caf::reacts_to<Install>, caf::reacts_to<RoundDone>,
    caf::reacts_to<Begin>, caf::reacts_to<Close>, caf::reacts_to<Halted>, caf::reacts_to<Stalled>,
    caf::reacts_to<Trouble>, caf::reacts_to<Failing>, caf::reacts_to<Raised>, caf::reacts_to<Progress>,
    caf::reacts_to<EpochEnd>, caf::reacts_to<ReplicaDone>, caf::reacts_to<Tick>, caf::reacts_to<Stop>>;

/// Reads micro-batches for shards, on its executor.
using loader_actor = caf::typed_actor<caf::reacts_to<Demand>>;

/// Holds one shard's micro-batches ready, within its credits.
using shard_actor =
    caf::typed_actor<caf::reacts_to<Need>, caf::reacts_to<Delivery>, caf::reacts_to<RemoteDelivery>>;

/// One device with a full copy of the model: computes its shards' gradients and applies each step.
using replica_actor =
    caf::typed_actor<caf::reacts_to<Begin>, caf::reacts_to<MicroBatch>, caf::reacts_to<Computed>,
                     caf::reacts_to<RoundDone>, caf::reacts_to<Updated>, caf::reacts_to<Hashed>,
                     caf::reacts_to<Snapped>, caf::reacts_to<ViewClosed>, caf::reacts_to<Assignment>,
                     caf::reacts_to<HandedOut>>;

/// The way from a replica to the reduction on the data plane, and back.
using reducer_actor =
    caf::typed_actor<caf::reacts_to<Open>, caf::reacts_to<Contribute>, caf::reacts_to<RoundDone>,
                     caf::reacts_to<ViewClosed>, caf::reacts_to<HandOut>, caf::reacts_to<HandedOut>>;

}  // namespace muster
