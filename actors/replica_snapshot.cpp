// A replica's snapshots: taken between two rounds, and gone on from.
#include "muster/actors/replica.hpp"
#include "muster/config/check.hpp"

namespace muster {

ReplicaPlace ReplicaState::place() const {
  ReplicaPlace place;
  place.records = records_;
  place.record_hash = record_hash_;
  place.cursor = course_->cursor();
  place.steps = course_->steps();
  place.finished = course_->finished();
  place.samples = samples_;
  place.ledger = ledger_;
  place.dropped = dropped_;
  place.epoch_loss = epoch_loss_;
  place.epoch_weight = epoch_weight_;
  place.seen = step_events_->seen();
  place.closed = epoch_;
  place.told = told_;
  return place;
}

void ReplicaState::restore(const ReplicaPlace& place) {
  records_ = place.records;
  record_hash_ = place.record_hash;
  course_->restore(place.cursor, place.steps, place.finished);
  samples_ = place.samples;
  ledger_ = place.ledger;
  dropped_ = place.dropped;
  epoch_loss_ = place.epoch_loss;
  epoch_weight_ = place.epoch_weight;
  step_events_->restore(place.seen);
  epoch_ = place.closed;
  epoch_.slot = parts_.slot;
  told_ = place.told;
  for (EpochEnd& row : told_) row.slot = parts_.slot;
}

void ReplicaState::take_snapshot(SnapshotUse use) {
  if (!between_rounds()) return snapshots_wanted_.push_back(use);
  compute([use, place = place()](Workbench& bench) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->place = place;
    copy_into(*snapshot, bench);
    Snapped snapped;
    snapped.use = use;
    snapped.snapshot = std::move(snapshot);
    return snapped;
  });
}

void ReplicaState::restore(const std::shared_ptr<const Snapshot>& snapshot) {
  MUSTER_CHECK(halted_ && between_rounds());
  restore(snapshot->place);
  record_.reset();
  parts_.compute->submit([bench = parts_.bench, node = parts_.node, snapshot] {
    try {
      muster::restore(*bench, *snapshot);
    } catch (const std::exception& error) {
      caf::anon_send(node, Trouble{error.what()});
    }
  });
}

void ReplicaState::on(const Snapped& message) {
  if (!message.error.empty()) trouble("the snapshot could not be taken: " + message.error);
}

}  // namespace muster
