// A replica: one device with a full copy of the model. For each step it gathers its shards' micro-batches,
// has their gradients computed, gives them to the reducer, and applies the result. It decides nothing:
// schedule, ledger and events are rules; computing is the executor's.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/checkpoint/checkpointer.hpp"
#include "actors/checkpoint/snapshot.hpp"
#include "actors/data_plane/executor.hpp"
#include "actors/messages/messages.hpp"
#include "actors/replica/states/catch_up.hpp"
#include "actors/replica/states/checkpoint_duty.hpp"
#include "actors/replica/states/part_deal.hpp"
#include "actors/replica/states/part_gathering.hpp"
#include "actors/replica/states/record_feed.hpp"
#include "actors/replica/states/replica_phase.hpp"
#include "actors/replica/states/state_replacement.hpp"
#include "actors/replica/states/step/audit_round.hpp"
#include "actors/replica/states/step/backup_queue.hpp"
#include "actors/replica/states/step/batch_gathering.hpp"
#include "actors/replica/states/step/last_record.hpp"
#include "actors/replica/states/step/proof.hpp"
#include "actors/replica/states/step/step_times.hpp"
#include "actors/replica/states/step/two_sums.hpp"
#include "actors/replica/states/step/weights_comparison.hpp"
#include "actors/replica/states/training_position.hpp"
#include "actors/trainer/trainer_state.hpp"

namespace muster {

/// What a replica is given.
struct ReplicaSetup {
  std::uint32_t slot = 0;
  DataFacts facts;
  std::shared_ptr<TrainerState> trainer;
  std::shared_ptr<Executor> compute;
  node_actor node;
  std::shared_ptr<Executor> background;       ///< what no step waits for: encoding, hashing
  std::shared_ptr<Checkpointer> checkpoints;  ///< null: none are written
  std::shared_ptr<const Snapshot> from;       ///< to go on from; null: the beginning
};

class ReplicaState {
 public:
  static inline const char* name = "replica";
  using Self = replica_actor::stateful_pointer<ReplicaState>;

  void start(Self self, ReplicaSetup setup);
  void go_on();
  void on(const MicroBatch& message);
  void on(const Computed& message);
  void on(const RoundDone& message);
  void on(const Updated& message);
  void on(const Hashed& message);
  void on(const ViewClosed& message);
  void on(const Assignment& message);
  void on(const TransferIn& message);
  void on(const Snapped& message);
  void on(const Written& message);
  void on(const Observing& message);
  void on(const DonateTo& message);
  void on(const StateCopied& message);
  void on(const Restored& message);
  void on(const Adopted& message);
  void on(const RunBackupTask& message);
  void on(const PartTaken& message);
  void on(const WriteAgain& message);
  void on(const ReadAgain& message);
  void on(const AuditShardReply& message);
  void on(const Audited& message);
  void on(const Weighed& message);
  /// Writes a checkpoint of what it holds now, whatever else it waits for; StateKept goes to the node.
  void keep_state();

  /// Takes a snapshot at the next place between two rounds, at once if it stands at one; Snapped comes back.
  void take_snapshot(SnapshotUse use);
  /// Goes on from a snapshot, between two views. The floats are copied by the compute thread, before whatever
  /// is asked of it next; one of another model or optimiser ends in Trouble.
  void restore(const std::shared_ptr<const Snapshot>& snapshot);
  /// Where this replica stands. Between two rounds it is the same on all replicas with as many records.
  ReplicaPlace place() const;
  bool between_rounds() const { return !phase_.is_updating(); }

 private:
  void restore(const ReplicaPlace& place);

  std::chrono::nanoseconds now() const;  // on the actor system's clock
  ReplicaPhase::Facts facts() const;
  Offering offers() const;
  void contribute(std::vector<NodeValue> nodes, std::vector<ShardMetrics> metrics,
                  std::vector<AuditReport> audits = {});
  void look_at_place();
  void begin_check();
  void checked(const RoundRecord& check);
  void prove(const RoundRecord& record);
  void begin_audits(const Cursor& cursor);
  std::optional<std::uint32_t> own_audit() const;
  void ask_for_audit();
  bool take_for_audit(const Item& item);
  void audit_if_ready();
  void done_with(AuditRound::Part part);
  void contribute_if_audited();
  void record_taken(const std::shared_ptr<const RoundRecord>& record, MeanIs mean = MeanIs::in_gradient);
  MeanIs mean_of(const RoundRecord& record) const;
  void answer_halt();
  void send_transfer();
  void send_transfer(TransferOut out, std::shared_ptr<const TransferPayload> transfer);
  void make_and_send_transfer(const TransferOut& out);
  std::uint64_t kept_from() const;
  void feed();
  void act(const RecordFeed::Actions& actions);
  std::uint64_t window() const;
  void donate();
  void begin_restore(const std::shared_ptr<const std::vector<std::byte>>& payload);
  void catch_up();
  void apply_given(std::span<const std::byte> record);
  bool speaks() const;
  void gather(const Cursor& cursor);
  bool left_out(std::uint32_t shard) const;
  void raise_dropped(const RoundRecord& record, const std::vector<std::uint32_t>& shards);
  void gathered();
  void begin_step();
  void sketched(const RoundRecord& sketch);
  void go_on_evaluating();
  void step_recorded(const RoundRecord& record);
  void evaluation_recorded(const RoundRecord& record);
  void raise_step_events(const RoundRecord& record);
  void raise_if_starved();
  bool count_step(const RoundRecord& record);
  void report(EpochEnd epoch);
  void report_epochs();
  bool raise_not_finite(const NotFinite& found);
  void stop_before(Event event);
  void take_back();
  void moved(const RoundSchedule::Move& move);
  void report_epoch();
  void next_round();
  void begin_evaluation();
  void finish();
  void report_done(const std::string& state_sha256, const std::string& checkpoint);
  void go_on_from(const ReplicaPlace& place);
  void consider_checkpoint();
  void raise_written(const Written& message);
  bool writes_again(const Written& message);
  bool is_void(const Written& written);
  bool is_of_another_history(const Written& written) const;
  void keep_last();
  void next_turn();
  void ask_for_backup();
  bool take_for_backup_task(const Item& item);
  void backup_task_done(const Computed& message);
  bool in_parts() const { return setup_.trainer->job.train.in_parts(); }
  void enter_parts();
  void view_takes_effect();
  void deal_parts();
  void take_part(const TransferIn& message);
  void go_back(DiskTries tries = {});
  bool reads_again(const Restored& message);
  void gone_back(const Restored& message);
  void give_for_checkpoint();
  void gather_parts(const Snapped& own, const Written& written);
  void take_gathered(const TransferIn& message);
  void write_if_gathered();
  void give_up_gathering(const std::string& reason);
  void write(std::shared_ptr<const Snapshot> snapshot, const Written& written);
  void trouble(const std::string& reason, std::vector<Event> events = {});
  void model_failed(std::optional<std::uint32_t> shard, const std::string& error);
  RoundHeader header(RoundKind kind) const;
  ShardReport shard_report(const Item& item) const;
  template <class JobFunction>
  void compute(JobFunction job);
  template <class JobFunction>
  void on_compute_thread(JobFunction job);

  replica_actor::pointer self_ = nullptr;
  ReplicaSetup setup_;
  Assignment assignment_;  // in the current view
  reducer_actor reducer_;
  std::uint64_t turn_ = 0;  // what was asked for in an earlier one is ignored
  ReplicaPhase phase_;
  std::uint32_t closed_view_ = 0;
  std::uint64_t round_ = 1;                   // the greeting was 0
  std::optional<TrainingPosition> position_;  // from `start` on

  // A step
  BatchGathering batches_;
  TwoSums two_sums_;
  AuditRound audit_round_;
  BackupQueue backups_;  // see replica_backup.cpp
  LastRecord last_;
  bool result_abandoned_ = false;         // a transfer may still write to it
  std::vector<ShardMetrics> evaluation_;  // of the evaluation that is under way
  StepTimes times_;

  // Bits that are compared; see replica_bits.cpp and replica_audit.cpp
  WeightsComparison weights_;
  Proof proof_;

  // The state and the records, from one replica to another
  using Payload = CatchUp::Payload;
  RecordFeed feed_;          // as a donor
  bool keeps_soon_ = false;  // the last record, once its mean has come from the GPU
  CatchUp catch_up_;         // as a newcomer, or behind the others
  PartDeal part_deal_;       // of what is held in parts; see replica_parts.cpp

  // Checkpoints
  CheckpointDuty checkpoint_duty_;
  PartGathering part_gathering_;
  StateReplacement replacement_;          // by that of a checkpoint
  std::shared_ptr<const Snapshot> from_;  // the checkpoint that the run goes on from, until a record is taken
  bool keep_wanted_ = false;              // KeepState came while a record was applied
  std::string snapshot_error_;            // of the last one: its memory, perhaps

  std::optional<ReplicaDone> done_;  // as it was said
};

// Runs on the executor; its answer comes back as a message. What the job throws is told in the answer.
template <class JobFunction>
void ReplicaState::compute(JobFunction job) {
  using Answer = decltype(job(*setup_.trainer));
  setup_.compute->submit([trainer = setup_.trainer, replica = replica_actor(self_), turn = turn_,
                          job = std::move(job)]() mutable {
    Answer answer;
    try {
      answer = job(*trainer);
    } catch (const ShardError& error) {
      answer = {};
      answer.error = error.what();
      if constexpr (std::is_same_v<Answer, Computed>) answer.error_shard = error.shard;
    } catch (const std::exception& error) {
      answer.error = error.what();
    }
    trainer->progress->moved();
    answer.turn = turn;
    caf::anon_send(replica, std::move(answer));
  });
}

// The same without an answer. What the job throws ends the run.
template <class JobFunction>
void ReplicaState::on_compute_thread(JobFunction job) {
  setup_.compute->submit([trainer = setup_.trainer, node = setup_.node, job = std::move(job)]() mutable {
    try {
      job(*trainer);
    } catch (const std::exception& error) {
      caf::anon_send(node, Trouble{error.what()});
    }
    trainer->progress->moved();
  });
}

replica_actor::behavior_type replica(ReplicaState::Self self, ReplicaSetup setup);

}  // namespace muster
