// How a run ends. One that is told to end keeps its state: a last view, in which no step is made and one
// member writes a checkpoint. Then the outcome is decided, and all nodes are told.
#pragma once

#include <exception>
#include <string>

#include "actors/coordinator/facts/coordinator_ports.hpp"
#include "actors/coordinator/facts/run_facts.hpp"
#include "actors/coordinator/nodes/arrivals.hpp"
#include "actors/coordinator/views/journal_keeper.hpp"
#include "actors/coordinator/views/rollback.hpp"
#include "actors/coordinator/views/suspect_checkpoints.hpp"

namespace muster {

/// The parts that the end of a run passes through.
struct EndParts {
  JournalKeeper& journal;
  SuspectCheckpoints& suspects;
  Rollback& rollback;
  Arrivals& arrivals;
};

/// All end actions are its own.
class RunEnding {
 public:
  RunEnding(RunFacts& run, CheckpointFacts& checkpoints, const EndParts& parts, CoordinatorPort& port,
            ViewActions& views)
      : run_(run),
        checkpoints_(checkpoints),
        journal_(parts.journal),
        suspect_checkpoints_(parts.suspects),
        rollback_(parts.rollback),
        arrivals_(parts.arrivals),
        port_(port),
        views_(views) {}

  void on(const StopRequest& message);
  void on(const Checkpointed& message);
  void on(const Raised& message);

  // --- a last checkpoint

  bool begin_keeping(const std::string& outcome, const std::string& reason);
  bool keep_state(const std::string& outcome, const std::string& reason);
  void last_view();
  /// No member wrote one, or can.
  void not_kept(const std::string& reason);

  // --- the outcome

  void fail(const std::string& reason);
  /// The coordinator's own error, or one of an observer in this process, which may come again.
  void fail_of(const std::exception_ptr& thrown);
  /// A pause has lasted as long as it may: one of those that are left writes what they hold before all go.
  void give_up();
  void conclude(const std::string& outcome, const std::string& reason);
  /// The run is over. It waits, for a bounded time, for a disk that has not answered yet whether it marks
  /// checkpoints that may hold wrong results: then it is called again at later ticks.
  void finish();
  /// The same, and waits for nothing: no tick comes any more.
  void finish_at_once();

 private:
  void state_kept(const Checkpointed& message);
  void end_as_asked();
  bool all_know() const;
  bool may_be_found_again(const std::string& outcome) const;
  bool waits_for_marks() const;
  void sum_up();

  RunFacts& run_;
  CheckpointFacts& checkpoints_;
  JournalKeeper& journal_;
  SuspectCheckpoints& suspect_checkpoints_;
  Rollback& rollback_;
  Arrivals& arrivals_;
  CoordinatorPort& port_;
  ViewActions& views_;
};

}  // namespace muster
