// Coming together, and every change of who takes part: a node joins, a view is installed, begins and is
// closed, a coordinator that was started anew adopts, a newcomer is given a state. Part of messages.hpp,
// which is the one to read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/messages/epoch_end.hpp"
#include "actors/messages/message.hpp"
#include "actors/messages/view.hpp"
#include "muster/progress.hpp"

namespace muster {

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
  bool sums_on_gpu = false;   ///< others that say so can read its sums, and write its results, on its GPU
  bool loads = false;         ///< whether this node can read the data, and `facts` holds
  DataFacts facts;
  std::uint64_t elements = 0;
  std::uint64_t batch_bytes_max = 0;  ///< largest encoded micro-batch

  static auto fields(Prepared& x) {
    return std::tie(x.name, x.address, x.host, x.transport, x.state_sha256, x.probe_sha256, x.shapes,
                    x.model_sha256, x.computes_with, x.sums_on_gpu, x.loads, x.facts, x.elements,
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
  std::uint64_t kept_from = 0;            ///< the oldest record that it can send
  std::uint32_t took = 0;                 ///< the latest view of which it has taken a record; 0: none
  bool proven = false;                    ///< its weights and gradients were compared (View::unproven)
  std::vector<std::uint64_t> clean = {};  ///< of the view's replicas, as in Member
  bool trained = false;                   ///< no round is left behind its records
  PhaseTimes phases = {};                 ///< of this replica, so far; likewise
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

}  // namespace muster
