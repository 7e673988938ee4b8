// From one view to the next. One authority, one view at a time: all who are left close the view, then the
// next one is made of what they hold, and installed when it is in the journal.
#pragma once

#include <string>

#include "actors/coordinator/facts/coordinator_port.hpp"
#include "actors/coordinator/facts/run_actions.hpp"
#include "actors/coordinator/facts/run_facts.hpp"
#include "actors/coordinator/views/epoch_reports.hpp"
#include "actors/coordinator/views/journal_keeper.hpp"
#include "actors/coordinator/views/rollback.hpp"
#include "actors/coordinator/views/suspect_checkpoints.hpp"

namespace muster {

/// The parts that each view change passes through.
struct ViewChangeParts {
  JournalKeeper& journal;
  SuspectCheckpoints& suspects;
  Rollback& rollback;
  EpochReports& epoch_reports;
};

/// It does these of the ViewActions: close_view, next_view, install, go_on.
class ViewChange {
 public:
  ViewChange(RunFacts& run, CheckpointFacts& checkpoints, const ViewChangeParts& parts, CoordinatorPort& port,
             ViewActions& views, EndActions& ending)
      : run_(run),
        checkpoints_(checkpoints),
        journal_(parts.journal),
        suspect_checkpoints_(parts.suspects),
        rollback_(parts.rollback),
        epoch_reports_(parts.epoch_reports),
        port_(port),
        views_(views),
        ending_(ending) {}

  // --- closing

  void close_view();
  /// Those who have not closed the view yet are told who is lost.
  void ask_to_close();
  void on(const Closed& message);

  // --- deciding and installing

  void next_view();
  /// No loader came in a pause: those who can read the data go on without the others. False: there are none.
  bool go_on_without_loader();
  void install(const View& view);
  void on(const Installed& message);
  void go_on();

  // --- in force

  /// A member reports this step, made in the view that is in force.
  void makes_step(const Progress& message);
  /// The optimizer's parts are dealt anew once a step is done; those who wanted to leave can.
  void let_go_of_held_back();

 private:
  void make_view(const NextView& next);
  NextView what_follows_view() const;
  bool ends_without_loader();
  bool turn_away_who_cannot_read();
  void pause(const std::string& missing);
  void end_without_members(const std::string& missing);
  void end_with_all_who_leave();
  void let_leavers_go();
  void announce_view();
  void set_out();
  void report_first_step(const Progress& message);
  void takes_effect();

  RunFacts& run_;
  CheckpointFacts& checkpoints_;
  JournalKeeper& journal_;
  SuspectCheckpoints& suspect_checkpoints_;
  Rollback& rollback_;
  EpochReports& epoch_reports_;
  CoordinatorPort& port_;
  ViewActions& views_;
  EndActions& ending_;
  bool close_again_ = false;  // losses are to be told to those who close
};

}  // namespace muster
