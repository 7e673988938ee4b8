// The checkpoints that a replica writes: on the way when one is due, of the job's end, and of what it holds
// when it ends before the job. Where replicas hold parts, those of all are gathered first. For one thread at
// a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "actors/replica/context/replica_context.hpp"
#include "actors/replica/duties/part_exchange.hpp"
#include "actors/replica/states/catch_up.hpp"
#include "actors/replica/states/checkpoint_duty.hpp"
#include "actors/replica/states/part_gathering.hpp"
#include "actors/replica/states/state_replacement.hpp"
#include "actors/replica/states/step/weights_comparison.hpp"

namespace muster {

class Checkpoints {
 public:
  /// `weights`: a snapshot is compared with what members had alike. `catch_up` and `replacement` say whether
  /// the replica holds a state that counts.
  Checkpoints(const ReplicaContext& context, PartExchange& parts, const WeightsComparison& weights,
              const CatchUp& catch_up, const StateReplacement& replacement)
      : context_(context), parts_(parts), weights_(weights), catch_up_(catch_up), replacement_(replacement) {}

  // --- views

  void enter();
  /// Another state is in place: the replica stands elsewhere in the job.
  void stand_at_position();
  /// The job's end is still to come.
  void forget_end() { duty_.forget_end(); }
  /// All went back to so many records.
  void go_back(std::uint64_t records) { duty_.go_back(records); }

  // --- between two rounds

  /// Every replica looks at every place, so that all know alike where one is due, and one who comes to speak
  /// later goes on at the next point.
  void look();
  bool due() const { return duty_.due_at(context_.records()); }
  /// Takes the one that is due here, or gives its part to the one who does.
  void take_due();
  /// Of the last view, in which no more steps are taken.
  void take_last();
  /// Takes a snapshot at once. Snapped follows.
  void take_snapshot(SnapshotUse use) const;
  /// Of what it holds now, or else after the record that is being applied. Owed: StateKept.
  void keep_state();
  void keep_state_if_wanted() {
    if (keep_wanted_) keep_state();
  }

  // --- what is written

  void on(const Snapped& message);
  /// Whether it is the checkpoint of the job's end, for which this replica waits.
  [[nodiscard]] bool on(const Written& message);
  void on(const WriteAgain& message);
  void on(const WriteOverdue& message);
  /// A part of another replica.
  void take_gathered(const TransferIn& message);
  /// The checkpoint of the job's end in this history; null: none is written yet.
  const Written* of_the_end() const;
  /// What was reported last, once more.
  void report_again() const;

 private:
  void gather(const Snapped& own, const Written& written);
  void write_if_gathered();
  void give_up_gathering(const std::string& reason);
  void write(std::shared_ptr<const Snapshot> snapshot, Written written);
  void write_elsewhere(Written refused);
  void expect_answer(const Written& asked, const std::shared_ptr<const Snapshot>& snapshot) const;
  bool is_of_another_turn(const Written& written) const;
  bool writes_again(const Written& message);
  void finish_parting(const Written& message) const;
  void report(const Written& message);
  void report_failed(const Written& message) const;
  bool is_void(const Written& written);
  bool is_of_this_history(const Written& written) const;
  std::string why_nothing_is_kept() const;

  const ReplicaContext& context_;
  PartExchange& parts_;
  const WeightsComparison& weights_;
  const CatchUp& catch_up_;
  const StateReplacement& replacement_;
  CheckpointDuty duty_;
  PartGathering gathering_;
  bool keep_wanted_ = false;    // keep_state came while a record was applied
  std::string snapshot_error_;  // of the last one: its memory, perhaps
};

}  // namespace muster
