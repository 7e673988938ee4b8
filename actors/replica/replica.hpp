// A replica: one device with a full copy of the model. For each step it gathers its shards' micro-batches,
// has their gradients computed, gives them to the reducer, and applies the result. The actor hands each
// message to the duty that it is about (duties/), and does what concerns several of them: views, what follows
// from a record, and what comes next. It decides nothing: schedule, ledger and events are rules; computing is
// the executor's.
#pragma once

#include <memory>

#include "actors/messages/messages.hpp"
#include "actors/replica/context/replica_context.hpp"
#include "actors/replica/duties/audits.hpp"
#include "actors/replica/duties/backup_tasks.hpp"
#include "actors/replica/duties/bookkeeping.hpp"
#include "actors/replica/duties/checkpoints.hpp"
#include "actors/replica/duties/job_end.hpp"
#include "actors/replica/duties/part_exchange.hpp"
#include "actors/replica/duties/rollback.hpp"
#include "actors/replica/duties/state_donor.hpp"
#include "actors/replica/duties/state_receiver.hpp"
#include "actors/replica/duties/step_loop.hpp"
#include "actors/replica/duties/weights_check.hpp"

namespace muster {

class ReplicaState {
 public:
  static inline const char* name = "replica";
  using Self = replica_actor::stateful_pointer<ReplicaState>;

  void start(Self self, ReplicaSetup setup);

  // --- views

  void on(const Assignment& message);
  void go_on();
  void on(const ViewClosed& message);
  void on(const Adopted& message);

  // --- a step

  void on(const MicroBatch& message);
  void on(const Computed& message);
  void on(const RoundDone& message);
  void on(const Updated& message);
  void on(const AuditShardReply& message) { audits_.on(message); }
  void on(const Audited& message) { audits_.on(message); }
  void on(const RunBackupTask& message) { backups_.on(message); }
  void on(const Weighed& message) { check_.on(message); }

  // --- from one replica to another, or from a checkpoint

  void on(const DonateTo& message) { donor_.on(message); }
  void on(const StateCopied& message) { donor_.on(message); }
  void on(const StateOverdue& message) { donor_.on(message); }
  void on(const Observing& message);
  void on(const TransferIn& message);
  void on(const PartTaken& message);
  void on(const Restored& message);
  void on(const ReadAgain& message);
  /// Goes on from a snapshot, between two views. The floats are copied by the compute thread, before whatever
  /// is asked of it next; one of another model or optimizer ends in Trouble.
  void restore(const std::shared_ptr<const Snapshot>& snapshot);

  // --- checkpoints and the end

  void on(const Snapped& message) { checkpoints_.on(message); }
  void on(const Written& message);
  void on(const WriteAgain& message) { checkpoints_.on(message); }
  void on(const WriteOverdue& message) { checkpoints_.on(message); }
  void on(const Hashed& message) { end_.on(message); }
  /// Writes a checkpoint of what it holds now, whatever else it waits for; StateKept goes to the node.
  void keep_state() { checkpoints_.keep_state(); }
  /// Where it stands between two rounds, it takes a snapshot at once; Snapped comes back.
  void take_snapshot(SnapshotUse use) { checkpoints_.take_snapshot(use); }
  bool between_rounds() const { return !context_.phase.is_updating(); }

 private:
  void next_turn();
  void answer_halt();
  ReplicaPhase::Facts facts() const;
  void next_round();
  void record_taken(const std::shared_ptr<const RoundRecord>& record, MeanIs mean);
  void stop_before(Event event);
  void catch_up();
  void gone_back(const Restored& message);
  void stand_at(const ReplicaPlace& place);
  void resume(const ReplicaPlace& place);

  replica_actor::pointer self_ = nullptr;
  ReplicaContext context_;
  std::uint32_t closed_view_ = 0;
  bool result_abandoned_ = false;  // a transfer may still write to it

  // What several duties read
  BatchGathering batches_;
  StepTimes times_;
  LastRecord last_;

  StateRollback rollback_{context_};
  PartExchange parts_{context_};
  StateReceiver receiver_{context_};
  StateDonor donor_{context_, last_, parts_.deal(), rollback_.replacement()};
  WeightsCheck check_{context_, times_};
  Audits audits_{context_, batches_};
  BackupTasks backups_{context_, batches_};
  StepLoop steps_{context_, batches_, times_, audits_, check_.comparison()};
  Bookkeeping books_{context_, times_, rollback_.replacement()};
  Checkpoints checkpoints_{context_, parts_, check_.comparison(), receiver_.catch_up(),
                           rollback_.replacement()};
  JobEnd end_{context_, parts_, checkpoints_, times_};
};

replica_actor::behavior_type replica(ReplicaState::Self self, ReplicaSetup setup);

}  // namespace muster
