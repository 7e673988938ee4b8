// A step whose numbers are not finite. Where that ends the run, the step is taken back: the weights before it
// are still good. The coordinator lets all compare them, and one write them (coordinator_end.cpp).
#include "actors/replica/replica.hpp"

namespace muster {

// All replicas find the same. Whether this one goes on.
bool ReplicaState::raise_not_finite(const NotFinite& found) {
  const TrainerState& trainer = *setup_.trainer;
  Event event = not_finite_event(found, *last_.record(), trainer.job, trainer.model->layout());
  if (trainer.job.train.not_finite == OnNotFinite::stop) {
    stop_before(std::move(event));
    return false;
  }
  if (speaks()) self_->send(setup_.node, Raised{std::move(event)});
  return true;
}

// Should the view end before this is told, the next one does this step again, and finds the same.
void ReplicaState::stop_before(Event event) {
  const std::string reason = not_finite_reason(event);
  take_back();
  if (phase_.is_entering() || catch_up_.observing()) return next_round();
  if (keep_wanted_) keep_state();
  if (phase_.is_halted()) return answer_halt();
  setup_.trainer->progress->now(Activity::idle);
  if (speaks()) trouble(reason, {std::move(event)});
}

// The last record was not applied, and nothing in it has been counted.
void ReplicaState::take_back() {
  position_->take_back();
  last_.forget();
  if (!std::exchange(keeps_soon_, false)) feed_.drop_newest();
  phase_.record_applied();
}

}  // namespace muster
