// A replica's snapshots: taken between two rounds, and gone on from.
#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "actors/replica/replica.hpp"
#include "base/canary.hpp"
#include "base/check.hpp"
#include "muster/error.hpp"

namespace muster {

ReplicaPlace ReplicaState::place() const {
  return position_->place();
}

void ReplicaState::restore(const ReplicaPlace& place) {
  position_->restore(place);
  last_.forget();
  setup_.trainer->progress->trained(position_->samples());
  weights_.forget_block();
  checkpoint_duty_.stand_at(position_->point());
  snapshot_error_.clear();
}

void ReplicaState::take_snapshot(SnapshotUse use) {
  MUSTER_CHECK(between_rounds());
  compute([use, place = place(), view = assignment_.view.number, history = assignment_.view.history,
           known = weights_.known(assignment_.view.number, position_->records())](TrainerState& trainer) {
    Snapped snapped;
    snapped.view = view;
    snapped.use = use;
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->place = place;
    snapshot->history = history;
    copy_into(*snapshot, trainer);
    if (known && weigh(*snapshot, known->step) != *known) {
      snapped.error =
          "its weights have changed since they were compared with those of the others: its memory";
      return snapped;
    }
    if (const auto part = trainer.next_part ? trainer.next_part : trainer.part;
        part && use != SnapshotUse::donation)
      part->copy_into(*snapshot);
    if (canary("unlike-checkpoint") && use == SnapshotUse::checkpoint && !snapshot->slots.empty())
      snapshot->slots[0].values[0] += 1;
    snapped.snapshot = std::move(snapshot);
    return snapped;
  });
}

void ReplicaState::restore(const std::shared_ptr<const Snapshot>& snapshot) {
  MUSTER_CHECK(phase_.is_halted() && between_rounds());
  restore(snapshot->place);
  on_compute_thread([snapshot](TrainerState& trainer) { muster::restore(trainer, *snapshot); });
}

// A run that goes on may have another end than the one that was given up.
void ReplicaState::go_on_from(const ReplicaPlace& place) {
  const std::string reason = position_->resume(place);
  if (!reason.empty()) return trouble("the checkpoint cannot be gone on from: " + reason);
  checkpoint_duty_.stand_at(position_->point());
}

// Every replica looks at every place, so that one who comes to speak later goes on at the next point.
void ReplicaState::consider_checkpoint() {
  if (!checkpoint_duty_.take_due(position_->records()) || position_->schedule().finished())
    return;  // at the end one is written anyway
  if (!speaks()) return in_parts() ? give_for_checkpoint() : void();
  give_up_gathering("the next one was due before all parts of the optimiser were there");
  if (checkpoint_duty_.begin()) return take_snapshot(SnapshotUse::checkpoint);
  if (in_parts()) part_gathering_.ignore_until(position_->records());
  self_->send(setup_.node,
              Raised{make_event("checkpoint_passed_over",
                                {{"step", static_cast<std::int64_t>(position_->schedule().steps())}})});
}

void ReplicaState::on(const Snapped& message) {
  if (!message.error.empty() && message.use == SnapshotUse::parting && !assignment_.view.last)
    self_->send(setup_.node, StateKept{"no checkpoint is written: " + message.error});
  snapshot_error_ = message.error;
  if (!message.error.empty()) return trouble("the snapshot could not be taken: " + message.error);
  if (message.use == SnapshotUse::donation || !setup_.checkpoints) return;
  Written written;
  written.view = message.view;
  written.history = message.snapshot->history;
  written.parting = message.use == SnapshotUse::parting;
  written.turn = message.turn;
  written.last = message.use == SnapshotUse::last_checkpoint;
  if (written.last && message.turn != turn_) return;  // the next view ends the run
  if (is_void(written)) return;
  checkpoint_duty_.snapped(now());
  if (written.last || assignment_.view.last)
    setup_.trainer->progress->now(Activity::idle);  // the disk is not its own
  if (in_parts()) return gather_parts(message, written);
  write(message.snapshot, written);
}

void ReplicaState::write(std::shared_ptr<const Snapshot> snapshot, const Written& written) {
  setup_.checkpoints->write(std::move(snapshot), written, [replica = replica_actor(self_)](Written answer) {
    caf::anon_send(replica, std::move(answer));
  });
}

void ReplicaState::keep_state() {
  keep_wanted_ = phase_.is_updating();
  if (keep_wanted_) return;  // see next_round
  if (canary("orphan-keeps-nothing")) return self_->send(setup_.node, StateKept{});
  if (!setup_.checkpoints)
    return self_->send(setup_.node, StateKept{"no checkpoint is written: checkpoint.folder is not set"});
  if (position_->records() == 0)
    return self_->send(setup_.node, StateKept{"no checkpoint is written: no step was done"});
  if (!snapshot_error_.empty())
    return self_->send(setup_.node, StateKept{"no checkpoint is written: " + snapshot_error_});
  if (catch_up_.observing() && !catch_up_.has_state())
    return self_->send(setup_.node, StateKept{"no checkpoint is written: it had no state yet"});
  if (replacement_.wanted()) {  // what it holds is what all give up
    const std::string& to = assignment_.view.source.checkpoint;
    return self_->send(setup_.node, StateKept{"no checkpoint is written: its state was to be replaced by " +
                                              (to.empty() ? "that of the beginning" : to)});
  }
  if (in_parts() && (catch_up_.observing() || assignment_.view.replicas.size() > 1 || !part_deal_.done()))
    return self_->send(setup_.node,
                       StateKept{std::string("no checkpoint is written: it holds but a part of ") +
                                 (setup_.trainer->job.train.shard_optimizer
                                      ? "the optimiser (train.shard_optimizer)"
                                      : "what the shards left out (train.compression)") +
                                 "; the last one stands"});
  take_snapshot(SnapshotUse::parting);
}

// All stand at the same record. The first one writes it, and is given the parts of the others.
void ReplicaState::keep_last() {
  if (!setup_.checkpoints) return trouble("it has no folder for the last checkpoint");
  setup_.trainer->progress->now(speaks() || in_parts() ? Activity::updating : Activity::idle);
  if (speaks()) return take_snapshot(SnapshotUse::parting);
  if (in_parts()) give_for_checkpoint();
}

// What the disk refused stays in memory, and is written again; at the end of the run it goes into another
// folder at last.
bool ReplicaState::writes_again(const Written& message) {
  using Follows = CheckpointDuty::Follows;
  auto verdict = checkpoint_duty_.judge(message, setup_.trainer->job, assignment_.view.last, now());
  if (verdict.follows == Follows::is_final) return false;
  if (verdict.follows == Follows::elsewhere) {
    setup_.checkpoints->write_elsewhere(
        std::move(verdict.written),
        [replica = replica_actor(self_)](Written answer) { caf::anon_send(replica, std::move(answer)); });
    return true;
  }
  const auto whole = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  self_->send(setup_.node, Raised{make_event("checkpoint_delayed",
                                             {{"step", whole(message.step)},
                                              {"reason", message.error},
                                              {"needed_bytes", whole(message.needed)},
                                              {"free_bytes", message.room ? whole(*message.room) : -1},
                                              {"again_ms", milliseconds(verdict.wait)},
                                              {"advice", message.advice}})});
  self_->delayed_send(self_, verdict.wait, WriteAgain{std::move(verdict.written)});
  return true;
}

// One of the end is begun again in the next view.
void ReplicaState::on(const WriteAgain& message) {
  const Written& written = message.written;
  const bool of_this_view = written.last || (written.parting && assignment_.view.last);
  if (of_this_view && written.turn != turn_) return;
  if (is_void(written)) return;
  Written again = written;
  auto snapshot = std::move(again.kept);
  again.error.clear();
  write(std::move(snapshot), again);
}

// It is from before all went back, and would be set aside: nobody waits for it.
bool ReplicaState::is_void(const Written& written) {
  if (!checkpoint_duty_.is_void(written)) return false;
  checkpoint_duty_.end();
  return true;
}

// A verdict of a coordinator that is gone may be about it, where its attempt was gone on with all the same.
bool ReplicaState::is_of_another_history(const Written& written) const {
  return written.history != assignment_.view.history;
}

void ReplicaState::on(const Written& message) {
  if (is_void(message)) return;
  if (writes_again(message)) return;
  raise_written(message);
  if (message.parting && assignment_.view.last && !message.error.empty())
    return trouble("the last checkpoint could not be written: " + message.error);
  if (message.parting) {
    return self_->send(setup_.node,
                       StateKept{message.error.empty() ? "its state is in " + message.path
                                                       : "its state could not be written: " + message.error});
  }
  if (!message.last) {
    checkpoint_duty_.end();
    return;
  }
  const bool of_the_end = position_->schedule().finished() && message.records == position_->records() &&
                          !is_of_another_history(message);
  if (message.error.empty() && of_the_end) checkpoint_duty_.written_at_end(message);
  if (message.turn != turn_ || phase_.is_halted()) return;
  if (!message.error.empty()) return trouble("the last checkpoint could not be written: " + message.error);
  report_done(message.state_sha256, message.path);
}

void ReplicaState::raise_written(const Written& message) {
  const auto step = static_cast<std::int64_t>(message.step);
  if (!message.error.empty()) {
    self_->send(setup_.node,
                Raised{make_event("checkpoint_failed",
                                  {{"step", step}, {"reason", message.error}, {"advice", message.advice}})});
    return;
  }
  if (!message.folder.empty()) {
    self_->send(setup_.node, Raised{make_event("checkpoint_spared", {{"path", message.path},
                                                                     {"step", step},
                                                                     {"folder", message.folder},
                                                                     {"reason", message.advice}})});
  }
  self_->send(setup_.node, Raised{make_event("checkpoint",
                                             {{"path", message.path},
                                              {"step", step},
                                              {"bytes", static_cast<std::int64_t>(message.bytes)},
                                              {"seconds", checkpoint_duty_.seconds_since_snapshot(now())}})});
  const Checkpointed told{message.manifest, message.records, message.step,        message.path,
                          message.folder,   message.view,    message.state_sha256};
  checkpoint_duty_.told(told);
  self_->send(setup_.node, told);
}

}  // namespace muster
