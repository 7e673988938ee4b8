// Results that hold wrong bits: which steps may have them, and the checkpoint before these, to which all go
// back. Checkpoints that may hold them are set aside, so that nobody goes on from one.
#pragma once

#include <cstdint>
#include <string>

#include "actors/coordinator/facts/coordinator_port.hpp"
#include "actors/coordinator/facts/run_facts.hpp"
#include "actors/coordinator/views/journal_keeper.hpp"

namespace muster {

class SuspectCheckpoints {
 public:
  SuspectCheckpoints(RunFacts& run, CheckpointFacts& checkpoints, JournalKeeper& journal,
                     CoordinatorPort& port)
      : run_(run), checkpoints_(checkpoints), journal_(journal), port_(port) {}

  // --- steps that may be wrong

  /// Step `from` and later ones, until all have gone back. `ends`: so does the run. One that goes on, and has
  /// nothing to go back to, does so with what it has.
  void suspect(std::uint64_t from, bool ends);
  /// The replicas that could have told are lost, or the run `ends` before they do.
  void suspect_what_is_doubted(bool ends);
  /// The last checkpoint that counts is one before the suspects.
  void keep_no_suspect();
  /// The view begins with that checkpoint.
  void go_back_before_suspects(const View& view, const Checkpointed& good);
  /// The run goes on with what it has.
  void report_kept_suspects(std::uint64_t from);
  /// A run goes back to `step` in this view: steps that it leaves behind count no more, whoever writes them
  /// down late. Nobody may have looked whether they are right.
  void abandon_after(std::uint64_t step, std::uint32_t view);

  // --- the folder of checkpoints

  /// Chooses the history of this attempt. Who writes checkpoints into this folder for another run, or for an
  /// older attempt of this one, writes them into another history.
  void begin_history();
  /// Checkpoints of step `from` and later are marked and renamed. Either is enough for those that are there;
  /// a full disk may still rename. Only a verdict tells of those that are written late.
  void set_suspects_aside(std::uint64_t from);
  /// The disk did not take the verdicts before.
  void mark_suspects_again();
  /// The disk has not answered yet whether it takes them.
  bool marks_are_late() const { return !checkpoints_.verdicts.marked() && marks_are_late_; }
  /// The verdicts in the folder on the attempt of the members that come back.
  void remember_verdicts();
  /// That the view of the members that come back went back.
  void remember_going_back();

 private:
  std::string mark_suspects();
  void rename_suspects(std::uint64_t from) const;

  RunFacts& run_;
  CheckpointFacts& checkpoints_;
  JournalKeeper& journal_;
  CoordinatorPort& port_;
  bool marks_are_late_ = false;
};

}  // namespace muster
