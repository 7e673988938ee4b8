// A coordinator that was started anew, or that a member has reached again: what the journal says, what the
// members hold, and which of the two counts. Steps that live replicas hold always count more than a verdict
// in a journal.
#pragma once

#include <string>

#include "actors/coordinator/facts/coordinator_ports.hpp"
#include "actors/coordinator/facts/run_facts.hpp"
#include "actors/coordinator/nodes/arrivals.hpp"
#include "actors/coordinator/nodes/readiness.hpp"
#include "actors/coordinator/records/journal.hpp"
#include "actors/coordinator/views/journal_keeper.hpp"
#include "actors/coordinator/views/rollback.hpp"
#include "actors/coordinator/views/suspect_checkpoints.hpp"

namespace muster {

/// The parts that members pass through when they come back.
struct AdoptionParts {
  JournalKeeper& journal;
  SuspectCheckpoints& suspects;
  Rollback& rollback;
  Arrivals& arrivals;
  Readiness& readiness;
};

class Adoption {
 public:
  Adoption(RunFacts& run, CheckpointFacts& checkpoints, const AdoptionParts& parts,
           const CoordinatorPorts& ports)
      : run_(run),
        checkpoints_(checkpoints),
        journal_(parts.journal),
        suspect_checkpoints_(parts.suspects),
        rollback_(parts.rollback),
        arrivals_(parts.arrivals),
        readiness_(parts.readiness),
        port_(ports.port),
        connections_(ports.connections),
        views_(ports.views),
        ending_(ports.ending) {}

  // --- the start

  /// The run goes on from a checkpoint: what was told before it is part of this run's report.
  void report_resumed();
  /// Throws Error: then nothing was begun.
  void look_into_journal();

  // --- the members

  void on(const Adopt& message);
  /// All members that are left have come back. Newcomers can be compared with them now.
  void adopted_all();
  /// Called at each tick while members are to come back. True: one of them is lost.
  bool judge_returns();
  void none_came_back();
  /// The first view was in the journal, and is void: all join anew, once the journal says so.
  void try_to_begin_anew();

 private:
  void note_beginning(bool nodes_may_live);
  void expect_resume(const View& view) const;
  void wait_for_members(const View& view, const FreeNumbers& free);
  void report_completed(const JournalEntry& entry);
  bool begin_anew();
  void some_were_here();
  bool learn_from(const Adopt& message);
  void go_on_with(const View& view);
  void returned(const Adopt& message, const node_actor& actor);
  void returned_early(const Adopt& message);

  RunFacts& run_;
  CheckpointFacts& checkpoints_;
  JournalKeeper& journal_;
  SuspectCheckpoints& suspect_checkpoints_;
  Rollback& rollback_;
  Arrivals& arrivals_;
  Readiness& readiness_;
  CoordinatorPort& port_;
  NodeConnections& connections_;
  ViewActions& views_;
  EndActions& ending_;
};

}  // namespace muster
