// A step whose numbers are not finite. Where that ends the run, the weights before it are still good: the
// step is taken back, and one replica writes a last checkpoint before it says why the run ends.
#include "muster/actors/replica.hpp"
#include "muster/config/canary.hpp"

namespace muster {

// All replicas find the same. Whether this one goes on.
bool ReplicaState::raise_not_finite(const NotFinite& found) {
  const Workbench& bench = *parts_.bench;
  Event event = not_finite_event(found, *record_, bench.job, bench.model->layout());
  if (bench.job.train.not_finite == OnNotFinite::stop) {
    stop_before(std::move(event));
    return false;
  }
  if (speaks()) self_->send(parts_.node, Raised{std::move(event)});
  return true;
}

// Should the view end on the way, the next one does this step again, and finds the same.
void ReplicaState::stop_before(Event event) {
  const std::string reason = not_finite_reason(event);
  take_back();
  if (keep_wanted_) keep_state();
  if (entering_ || observing_) return next_round();
  if (halted_) return answer_halt();
  if (!parts_.checkpoints || course_->steps() == 0) return trouble(reason, {std::move(event)});
  stopping_ = Trouble{reason, {std::move(event)}, {}, true};
  if (speaks()) return take_snapshot(SnapshotUse::last_checkpoint);
  parts_.bench->progress->now(Activity::idle);  // however long it is written
  if (in_parts()) give_for_checkpoint();
}

// The last record was not applied, and nothing in it has been counted.
void ReplicaState::take_back() {
  if (!canary("not-finite-counts")) --records_;
  record_hash_ = hash_before_;
  record_.reset();
  mean_whole_ = false;
  if (!std::exchange(keeps_soon_, false) && !kept_.empty()) kept_.pop_back();
  updating_ = false;
}

void ReplicaState::say_stopped(const Written& message) {
  if (message.turn != turn_ || halted_) return;
  if (!message.error.empty()) return trouble(message.error);
  self_->send(
      parts_.node,
      Trouble{stopping_->reason + "; these weights are in " + message.path, stopping_->events, {}, true});
}

// Parts that are gathered for a checkpoint go by this number. One of those on the way may be gathered at the
// same place.
std::uint64_t ReplicaState::gathering_number() const {
  return records_ + (stopping_ ? 1 : 0);
}

}  // namespace muster
