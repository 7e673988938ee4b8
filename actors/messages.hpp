// The message page: every message and actor interface, in the order in which they occur: the whole system.
//
// Each message: who sends it to whom; what the receiver owes; by when. "Within the node" marks messages that
// never leave their process: they hold pointers. Gradients and micro-batches between nodes are frames of the
// data plane (transport/frame.hpp), never messages.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <caf/all.hpp>

#include "actors/bits_messages.hpp"
#include "actors/checkpoint_messages.hpp"
#include "actors/end_messages.hpp"
#include "actors/epoch_end.hpp"
#include "actors/event.hpp"
#include "actors/handout_messages.hpp"
#include "actors/message.hpp"
#include "actors/not_finite.hpp"
#include "actors/pipeline/item.hpp"
#include "actors/reach_messages.hpp"
#include "actors/status_messages.hpp"
#include "actors/view.hpp"
#include "muster/observer.hpp"
#include "muster/progress.hpp"
#include "transport/collective/accumulator.hpp"
#include "transport/collective/algorithm.hpp"
#include "transport/collective/liveness.hpp"
#include "transport/collective/round.hpp"
#include "transport/transport.hpp"

namespace muster {

// ------------------------------------------------------------ 1. coming together

/// node -> coordinator, once it runs. Owed: Welcome, or Stop with the reason; at once, but that a coordinator
/// which was started anew waits for the members of the last view first.
///
/// A process that was launched for a place comes under its name. One that comes by itself (`joins`), at any
/// time, gets the next free number; numbers are never used twice, so that nothing of the dead can be taken
/// for the living.
struct Join {
  std::uint16_t protocol = 0;
  NodeName name;
  std::int64_t pid = 0;
  std::uint64_t incarnation = 0;
  bool joins = false;
  std::string host;
  std::uint32_t cores = 0;     ///< that the process may use
  std::string device;          ///< asked for; empty: the coordinator chooses
  std::uint64_t launched = 0;  ///< number that its launcher gave this start; 0: it has no launcher
  std::string address;         ///< of its machine, on the way to the coordinator; for people

  static auto fields(Join& x) {
    return std::tie(x.protocol, x.name, x.pid, x.incarnation, x.joins, x.host, x.cores, x.device, x.launched,
                    x.address);
  }
};
MUSTER_MESSAGE(Join)

/// coordinator -> node. Owed: Prepared, within cluster.start_patience.
struct Welcome {
  NodeName name;  ///< its name from now on
  std::uint64_t term = 0;
  std::string job_toml;  ///< the whole job; a node needs no file but the data and model.file or library
  std::string device;
  bool loader_thread = false;  ///< whether loading has a thread of its own
  std::string resume;          ///< manifest in checkpoint.folder to go on from; empty: the beginning
  std::string folder_mark;     ///< what stands in checkpoint.folder (folder_mark.hpp); empty: not known

  static auto fields(Welcome& x) {
    return std::tie(x.name, x.term, x.job_toml, x.device, x.loader_thread, x.resume, x.folder_mark);
  }
};
MUSTER_MESSAGE(Welcome)

/// node -> coordinator: data opened, model built, transport up. Owed: Reach, to it and to those of other
/// hosts that are ready (reach_messages.hpp); then Install when all have said so, or Observe if training is
/// under way.
struct Prepared {
  NodeName name;
  std::string address;        ///< of the transport
  std::string host;           ///< equal for nodes that share one, as the transport sees it
  std::string transport;      ///< what carries the bytes, for people
  std::string state_sha256;   ///< of the initial state; empty on a loader
  std::string probe_sha256;   ///< of the gradient of a fixed micro-batch; empty where none can be read
  std::string shapes;         ///< names and shapes of the parameters, hashed
  std::string model_sha256;   ///< of the model's file or library; empty where it has a name
  std::string computes_with;  ///< hardware and libraries, for people; empty on a loader
  bool sums_on_card = false;  ///< others that say so can read its sums, and write its results, on its card
  bool loads = false;         ///< whether this node can read the data, and `facts` holds
  DataFacts facts;
  std::uint64_t elements = 0;
  std::uint64_t batch_bytes_max = 0;  ///< largest encoded micro-batch

  static auto fields(Prepared& x) {
    return std::tie(x.name, x.address, x.host, x.transport, x.state_sha256, x.probe_sha256, x.shapes,
                    x.model_sha256, x.computes_with, x.sums_on_card, x.loads, x.facts, x.elements,
                    x.batch_bytes_max);
  }
};
MUSTER_MESSAGE(Prepared)

/// coordinator -> node. Owed: Installed, within start_patience: from a replica once every pair of replicas
/// has greeted each other, from a loader once its data plane takes demands.
struct Install {
  View view;

  static auto fields(Install& x) { return std::tie(x.view); }
};
MUSTER_MESSAGE(Install)

/// node -> coordinator. From a newcomer: it is ready to be given a state.
struct Installed {
  NodeName name;
  std::uint32_t view = 0;

  static auto fields(Installed& x) { return std::tie(x.name, x.view); }
};
MUSTER_MESSAGE(Installed)

/// coordinator -> node: the view is over, because members are lost, come or go. The node drops every later
/// frame of it and applies nothing until a newer view is installed. Owed: Closed.
struct Close {
  std::uint64_t term = 0;
  std::uint32_t view = 0;
  std::vector<NodeName> lost;

  static auto fields(Close& x) { return std::tie(x.term, x.view, x.lost); }
};
MUSTER_MESSAGE(Close)

/// node -> coordinator: a promise to apply nothing more of this view. Owed: Install of the next one.
struct Closed {
  NodeName name;
  std::uint32_t view = 0;
  std::uint64_t records = 0;              ///< that this replica holds
  std::uint64_t kept_from = 0;            ///< the oldest record that it can hand out
  std::uint32_t took = 0;                 ///< the latest view of which it has taken a record; 0: none
  bool proven = false;                    ///< its weights and gradients were compared (View::unproven)
  std::vector<std::uint64_t> clean = {};  ///< of the view's replicas, as in Member
  bool trained = false;                   ///< no round is left behind its records
  Phases phases = {};                     ///< of this replica, so far; likewise
  Traffic traffic = {};

  static auto fields(Closed& x) {
    return std::tie(x.name, x.view, x.records, x.kept_from, x.took, x.proven, x.clean, x.trained, x.phases,
                    x.traffic);
  }
};
MUSTER_MESSAGE(Closed)

/// coordinator -> node, when all have installed the view: training begins, or goes on. From here on no step
/// waits for the coordinator.
struct Begin {
  std::uint32_t view = 0;

  static auto fields(Begin& x) { return std::tie(x.view); }
};
MUSTER_MESSAGE(Begin)

/// coordinator -> node, every cluster.detect.heartbeat: it is there.
struct Pulse {
  std::uint64_t term = 0;
  std::uint64_t kept_step =
      0;  ///< of the last checkpoint that it was told of; no replica removes a later one
  FreeNumbers free;
  std::string waits_for = {};  ///< before the first step: who is here and who is not; for people

  static auto fields(Pulse& x) { return std::tie(x.term, x.kept_step, x.free, x.waits_for); }
};
MUSTER_MESSAGE(Pulse)

/// node -> coordinator that was started anew, or that it has reached again: takes part in this view. Owed:
/// Adopted, or Stop; sent again until a Pulse has come.
struct Adopt {
  Join join;
  Prepared prepared;
  std::uint64_t term = 0;
  View view;           ///< whole: the coordinator's journal may be older; number 0: it was told of none
  bool begun = false;  ///< the view is in force
  std::string job_hash;
  FreeNumbers free;  ///< as it was told last

  static auto fields(Adopt& x) {
    return std::tie(x.join, x.prepared, x.term, x.view, x.begun, x.job_hash, x.free);
  }
};
MUSTER_MESSAGE(Adopt)

/// coordinator -> node. Owed: all EpochEnds so far, and ReplicaDone if it was said.
struct Adopted {
  std::uint64_t term = 0;

  static auto fields(Adopted& x) { return std::tie(x.term); }
};
MUSTER_MESSAGE(Adopted)

/// coordinator -> newcomer while training is under way: it is given the state of replica `donor`, and each
/// record after it, while the others train on. Owed: Installed, then CaughtUp.
struct Observe {
  View view;  ///< in force; the newcomer is no member
  Member donor;

  static auto fields(Observe& x) { return std::tie(x.view, x.donor); }
};
MUSTER_MESSAGE(Observe)

/// coordinator -> member: connects to the newcomer; once that is ready (`gives`), gives it its state, at its
/// next boundary between two rounds, and then each record until the view ends. If the newcomer falls too far
/// behind: Failing about it.
struct Donate {
  std::uint32_t view = 0;
  Member observer;
  bool gives = false;
  bool ends = false;  ///< the newcomer is gone

  static auto fields(Donate& x) { return std::tie(x.view, x.observer, x.gives, x.ends); }
};
MUSTER_MESSAGE(Donate)

/// newcomer -> coordinator: its state is the donor's, checked by hash. Owed: a view that holds it.
struct CaughtUp {
  NodeName name;
  std::uint32_t view = 0;
  std::uint64_t records = 0;
  std::uint32_t donor = 0;  ///< whose state it has

  static auto fields(CaughtUp& x) { return std::tie(x.name, x.view, x.records, x.donor); }
};
MUSTER_MESSAGE(CaughtUp)

/// node -> coordinator, on SIGTERM: hands its shards over and goes. Owed: Stop, after a view without it.
struct Leaving {
  NodeName name;
  std::string reason;

  static auto fields(Leaving& x) { return std::tie(x.name, x.reason); }
};
MUSTER_MESSAGE(Leaving)

// ------------------------------------------------------------ 2. a step, within one node

/// replica -> shard. Owed: MicroBatch with this cursor, when it is there.
struct Need {
  Cursor cursor;
};

/// shard -> loader, at most data.prefetch at once (a credit each). Owed: Delivery of the same ticket, or
/// Trouble. A loader elsewhere that owes it and stands still for cluster.straggler.stuck_after is lost
/// (rules/loader_watch.hpp), and the next view asks another one.
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
  NodeId errand = 0;                              ///< not its own part, but this node of another one
  std::shared_ptr<const void> keep;               ///< what `nodes` of an errand point into
  std::string error;                              ///< not empty: the model failed
  std::optional<std::uint32_t> error_shard = {};  ///< with the micro-batch of this shard
  std::vector<AuditWord> audits;                  ///< of the own shard that another replica computes, too
};

/// replica, from within its computing -> reducer: buckets of what this member adds to the open round, final
/// while the rest is still computed. Contribute follows, with all of it.
struct Offer {
  std::uint32_t view = 0;
  std::uint64_t round = 0;
  std::vector<NodeValue> nodes;      ///< final in `elements`; the same in each Offer of a round
  ElementRange elements;             ///< whole buckets (transport/collective/buckets.hpp)
  std::shared_ptr<const void> keep;  ///< what `nodes` point into
};

/// replica -> reducer: what this member adds to the open round.
struct Contribute {
  std::uint32_t view = 0;
  std::uint64_t round = 0;
  std::vector<NodeValue> nodes;
  std::vector<ShardMetrics> metrics;
  std::shared_ptr<const void> keep;  ///< what `nodes` point into
  NodeId errand = 0;                 ///< if not 0: the one node, of another member, that it stands in for
  std::vector<AuditWord> audits = {};
};

/// node -> replica that waits in an open round: computes a node of a late replica's shards, too
/// (cluster.straggler.action = "speculate"). Owed: a Contribute of that errand, unless the round is over
/// before.
struct StandIn {
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
  Phases phases = {};
  Traffic traffic = {};
};

/// node -> replica: its part in a new view. Owed: nothing before Begin.
class Part;
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

/// prepare job -> node. Holds the node's workbench; see workbench.hpp.
struct Workbench;
struct Ready {
  std::shared_ptr<Workbench> bench;
  std::shared_ptr<const Snapshot> resumed;  ///< to go on from; null: the beginning
  std::string probe_sha256, computes_with;  ///< as in Prepared
  std::string cannot_read;                  ///< why this replica cannot load where no loader is left
  std::string error;
};

// ------------------------------------------------------------ 3. telling others

/// any -> coordinator: something that a user must be able to see.
struct Raised {
  Event event;

  static auto fields(Raised& x) { return std::tie(x.event); }
};
MUSTER_MESSAGE(Raised)

/// replica 0 -> coordinator, at most five a second, and of each step that report.progress_every names.
MUSTER_MESSAGE(Progress)

/// replica -> coordinator, after its last step. Owed: Stop.
struct ReplicaDone {
  std::uint32_t slot = 0;
  std::uint64_t steps = 0;
  std::uint64_t samples = 0;
  std::string state_sha256;
  Phases phases;
  Traffic traffic;                ///< of the rounds that it took part in to their end
  std::string algorithm;          ///< of the reduction, in its last view
  std::int64_t steps_asked = -1;  ///< train.steps, if the data ended before
  std::string checkpoint;         ///< file, if this replica wrote one
  std::string note;               ///< for the report's reader; used by `muster bench`
  std::vector<EpochEnd> epochs;   ///< all: what was told of them may have met no coordinator, or an older one

  static auto fields(ReplicaDone& x) {
    return std::tie(x.slot, x.steps, x.samples, x.state_sha256, x.phases, x.traffic, x.algorithm,
                    x.steps_asked, x.checkpoint, x.note, x.epochs);
  }
};
MUSTER_MESSAGE(ReplicaDone)

/// node -> coordinator, every cluster.detect.heartbeat.
struct Heartbeat {
  NodeName name;
  std::uint64_t step = 0;      ///< last step applied
  std::uint64_t measured = 0;  ///< the step that `seconds` is of; 0: none yet
  double seconds = 0;          ///< for data and computation of its shards at that step
  std::uint64_t still_ms = 0;  ///< for how long the thread of its data plane has not done what it was told
  std::uint32_t activity = 0;  ///< Activity
  std::uint64_t doing_ms = 0;  ///< for how long without any progress; 0: it waits for others
  std::uint32_t call = 0;      ///< ThreadCall::Kind: the call that its compute thread is in,
  std::uint32_t call_shard = 0;
  std::uint64_t call_step = 0;
  std::uint64_t call_ms = 0;  ///< and for how long
  std::uint64_t samples = 0;  ///< in the steps that it has applied

  static auto fields(Heartbeat& x) {
    return std::tie(x.name, x.step, x.measured, x.seconds, x.still_ms, x.activity, x.doing_ms, x.call,
                    x.call_shard, x.call_step, x.call_ms, x.samples);
  }
};
MUSTER_MESSAGE(Heartbeat)

// ------------------------------------------------------------ 4. failure and the end: end_messages.hpp
// ------------------------------------------------------------ 5. a run is asked how it stands:
// status_messages.hpp

}  // namespace muster

#include "actors/interfaces.hpp"   // who receives which
#include "actors/message_ids.hpp"  // needs the messages above
