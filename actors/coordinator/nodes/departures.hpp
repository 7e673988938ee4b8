// Who goes: nodes that are lost, that leave, or that say that they cannot go on, and processes that have
// ended; and when the run ends for it.
#pragma once

#include <map>
#include <string>

#include "actors/coordinator/facts/coordinator_ports.hpp"
#include "actors/coordinator/facts/run_facts.hpp"
#include "actors/coordinator/nodes/adoption.hpp"
#include "actors/coordinator/nodes/arrivals.hpp"
#include "actors/coordinator/nodes/newcomers.hpp"
#include "actors/rules/membership/local_errors.hpp"

namespace muster {

/// The parts that hear of one who goes.
struct DepartureParts {
  Arrivals& arrivals;
  Newcomers& newcomers;
  Adoption& adoption;
};

/// Of the view actions this is its own: lost.
class Departures {
 public:
  Departures(RunFacts& run, const CheckpointFacts& checkpoints, const DepartureParts& parts,
             const CoordinatorPorts& ports)
      : run_(run),
        checkpoints_(checkpoints),
        arrivals_(parts.arrivals),
        newcomers_(parts.newcomers),
        adoption_(parts.adoption),
        port_(ports.port),
        connections_(ports.connections),
        views_(ports.views),
        ending_(ports.ending) {}

  void on(const Leaving& message);
  void on(const Failing& message);
  /// A child is known by the number of its start: by its pid only on its own host. One that has not joined
  /// yet is known by the name that it was launched for.
  void on(const ChildEnded& message);
  /// A connection to a node has ended.
  void node_down(const caf::actor_addr& address);
  void lost(const NodeName& who, const std::string& noticed_by, const std::string& reason, bool again = true);
  /// At each tick: a child whose connection has ended, and that lives.
  void judge_cut_off();

 private:
  void local_error(const Failing& message);
  void lost_before_begin(const NodeName& name, const std::string& reason, bool again);

  RunFacts& run_;
  const CheckpointFacts& checkpoints_;
  Arrivals& arrivals_;
  Newcomers& newcomers_;
  Adoption& adoption_;
  CoordinatorPort& port_;
  NodeConnections& connections_;
  ViewActions& views_;
  EndActions& ending_;
  LocalErrors errors_{[this](const NodeName& who) { return run_.membership->nodes().name_at_place(who); }};
  struct CutOff {
    caf::actor_addr address;
    int ticks = 0;
  };
  void cut_off(const NodeName& who, const caf::actor_addr& address);

  std::map<NodeName, CutOff> cut_off_;  // children whose connection has ended
};

}  // namespace muster
