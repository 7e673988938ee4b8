// Views that go back to a checkpoint: parts of the state are lost, or results hold wrong bits
// (suspect_checkpoints.hpp). Where a checkpoint cannot be read, the one before it is taken. A folder that
// cannot be read now, at the coordinator or at replicas, is waited for.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/coordinator/facts/coordinator_port.hpp"
#include "actors/coordinator/facts/run_actions.hpp"
#include "actors/coordinator/facts/run_facts.hpp"
#include "actors/coordinator/states/checkpoints/mount_wait.hpp"
#include "actors/coordinator/states/waits/disk_wait.hpp"
#include "actors/coordinator/views/suspect_checkpoints.hpp"
#include "actors/rules/steps/going_back.hpp"

namespace muster {

class Rollback {
 public:
  Rollback(RunFacts& run, CheckpointFacts& checkpoints, SuspectCheckpoints& suspects, CoordinatorPort& port,
           ViewActions& views, EndActions& ending)
      : run_(run),
        checkpoints_(checkpoints),
        suspect_checkpoints_(suspects),
        port_(port),
        views_(views),
        ending_(ending) {}

  // --- the view is being made

  /// When replicas that did not find the checkpoint of the view are to look again, if not yet.
  std::optional<MountWait::Time> next_look() const { return mounts_.next_look(port_.now()); }
  /// A view that goes back is made with the folder at hand: what cannot be read for a while is not gone.
  /// True: it is waited for, or the run has ended; members keep what they hold. `parts_lost`: of the state.
  bool waits_for_folder(const View& view, bool parts_lost);
  /// The view is made again at `when`.
  void make_again_at(const View& view, CoordinatorPort::Time when);
  /// Owner and buddy of a part are both lost. Where all stand cannot be gone on from; the last checkpoint
  /// can. Of that a coordinator that was started again may not have been told.
  void give_up_lost_parts(const View& view, const PartHolder& lost);
  /// What the members of a view that goes back do again counts anew, and they tell again of the epochs before
  /// it. Who told of them may have been wrong, or be gone.
  void forget_after(const View& view);
  /// The view is sent to its members. `reads`: they read its checkpoint.
  void enters(const View& view, bool reads);

  // --- its members read the checkpoint

  void on(const WentBack& message);
  /// No step of the view can end while one of its members stands where it was. `tick`: one more has passed.
  /// True: something was done about it.
  bool judge_going_back(bool tick);
  /// All have read it, or the next view needs no folder.
  void all_have_read() { mounts_.end(); }
  void folder_can_be_read() { folder_wait_.end(); }
  /// The run is paused.
  void stop_waiting();
  /// What members said is not known to a coordinator that was started again.
  void forget_answers() { answers_.entered(); }
  /// Time in which nobody could look does not count.
  void stood_still(std::chrono::nanoseconds gap, CoordinatorPort::Time now);

  // --- the run ends

  /// It names no checkpoint that is gone, or that those who are left could not read and one has found
  /// damaged.
  void keep_no_damaged();

 private:
  bool wait_for_readers(bool tick);
  void go_back_further();
  void wait_for_mounts(bool by_all, const std::vector<std::uint32_t>& slots = {});
  void fail_without_folder(const std::string& why);

  RunFacts& run_;
  CheckpointFacts& checkpoints_;
  SuspectCheckpoints& suspect_checkpoints_;
  CoordinatorPort& port_;
  ViewActions& views_;
  EndActions& ending_;
  GoingBack answers_;          // what members of the view say of its checkpoint
  DiskWait folder_wait_;       // the folder of checkpoints is away
  bool goes_further_ = false;  // nobody could read that of this view; what is older is to be seen
  MountWait mounts_;
};

}  // namespace muster
