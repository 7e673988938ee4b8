// What the coordinator writes into its journal, and when: before each view is installed, so that one that is
// started again knows who its members are. A disk that takes nothing is tried again.
#pragma once

#include <string>

#include "actors/coordinator/facts/coordinator_port.hpp"
#include "actors/coordinator/facts/run_actions.hpp"
#include "actors/coordinator/facts/run_facts.hpp"

namespace muster {

class JournalKeeper {
 public:
  JournalKeeper(RunFacts& run, const CheckpointFacts& checkpoints, CoordinatorPort& port,
                NodeConnections& connections, EndActions& ending)
      : run_(run), checkpoints_(checkpoints), port_(port), connections_(connections), ending_(ending) {}

  /// Throws Error if it cannot be written; TakenOver, once the run has ended here, if another coordinator has
  /// written into it.
  void note(const View& view, bool ended = false);
  /// The number of this newcomer is in the journal when it returns: nobody gives it again. Throws as `note`;
  /// then the next entries count more of them as given, so that nothing is to be written for newcomers that
  /// try again once the disk has answered.
  void note_number_of(const NodeName& newcomer);
  /// Whether the view is in the journal. If not, members keep what they hold, and it is tried again; the last
  /// view of a run waits for no journal.
  bool noted(const View& view);
  /// Of a coordinator that was started again: its term, or what a member told. False: that is not written
  /// yet, and no member counts as back; each asks again.
  bool note_what_it_lacks();
  /// That steps are suspected: who told of it may be lost. The next view is noted, too, and waits for its
  /// journal.
  void note_suspects();
  /// The outcome of the run, or that it has ended.
  void last_note(bool ended);

  /// The disk does not take this view: it is asked again, for cluster.give_up_after.
  void journal_refused(const View& view, const std::string& reason);
  /// Results turned out to be wrong since it was made, or a newcomer that it would take in is gone, or goes.
  bool is_outdated(const View& view) const;
  /// cluster.give_up_after is over: the run ends, and keeps its state where it can.
  void give_up_journal();

 private:
  void taken_over(const std::string& reason);
  View beginning() const;
  FreeNumbers numbers();

  RunFacts& run_;
  const CheckpointFacts& checkpoints_;
  CoordinatorPort& port_;
  NodeConnections& connections_;
  EndActions& ending_;
  FreeNumbers noted_;  // each entry has at least these: one before may have come to the disk
};

}  // namespace muster
