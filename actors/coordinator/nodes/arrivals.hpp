// Who comes to the coordinator: admission, and the first view.
#pragma once

#include <string>
#include <vector>

#include "actors/coordinator/facts/coordinator_ports.hpp"
#include "actors/coordinator/facts/run_facts.hpp"
#include "actors/coordinator/nodes/member_watch.hpp"
#include "actors/coordinator/views/journal_keeper.hpp"

namespace muster {

class Arrivals {
 public:
  Arrivals(RunFacts& run, const CheckpointFacts& checkpoints, JournalKeeper& journal, MemberWatch& members,
           const CoordinatorPorts& ports)
      : run_(run),
        checkpoints_(checkpoints),
        journal_(journal),
        members_(members),
        port_(ports.port),
        connections_(ports.connections),
        views_(ports.views),
        ending_(ports.ending) {}

  void on(const Join& message);
  /// Newcomers that had to wait for the members that they are compared with.
  void admit_callers();
  void refuse_callers(const std::string& reason);
  /// One that has a name here.
  void refuse(const NodeName& who, const std::string& reason);

  // --- the first view

  /// Of those who are ready. Others come to it as newcomers: one of them may hang while it prepares.
  void form();
  /// By hand: others may come in its place, for a while.
  void place_is_free(const NodeName& who);
  /// Called at each tick. Whether the time is over in which its place could be taken, and in which those who
  /// are here could be ready.
  bool begin_with_those_here();
  /// Says for how many nodes the run waits, and for how long, if that has an end.
  void report_waiting();
  /// Called at each tick. Whether the run has failed, for nobody comes to the places that are free.
  bool fail_for_missing();

 private:
  struct Caller {
    Join join;
    node_actor actor;
  };
  void refuse(const node_actor& node, const NodeName& name, const std::string& reason, bool again = false);
  void admit(const Join& message, const node_actor& actor);
  void report_arrived(const NodeName& who);
  bool refuse_unlike();
  void wait_no_longer();

  RunFacts& run_;
  const CheckpointFacts& checkpoints_;
  JournalKeeper& journal_;
  MemberWatch& members_;
  CoordinatorPort& port_;
  NodeConnections& connections_;
  ViewActions& views_;
  EndActions& ending_;
  std::vector<Caller> callers_;  // newcomers, until the members are back that they are compared with
};

}  // namespace muster
