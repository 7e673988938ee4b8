// Weights that are compared with those of the other members: a block with each round, and all of them in a
// round of its own, the check, before anything depends on them that outlives this view.
#include "actors/replica/replica.hpp"

namespace muster {

// Every replica looks at every place, so that all know alike where a checkpoint is due.
void ReplicaState::look_at_place() {
  std::optional<Interval> every;
  if (setup_.checkpoints) every = setup_.checkpoints->every();
  checkpoint_duty_.look(position_->point(), every ? &*every : nullptr, position_->records());
}

void ReplicaState::begin_check() {
  setup_.trainer->progress->now(Activity::updating);
  times_.pass(now());
  compute([step = position_->schedule().steps()](TrainerState& trainer) {
    return Weighed{0, weigh_all(trainer, step), {}};
  });
}

void ReplicaState::on(const Weighed& message) {
  if (message.turn != turn_) return;
  if (!message.error.empty()) return trouble("the weights could not be hashed: " + message.error);
  if (phase_.is_halted()) return;
  setup_.trainer->progress->now(Activity::reducing);
  times_.weighed(now());
  RoundHeader opening = header(RoundKind::check);
  opening.weights = message.weights;
  weights_.weighed(message.weights);
  self_->send(reducer_, Open{assignment_.view.number, std::move(opening), nullptr, 0, nullptr});
}

// All members have these weights.
void ReplicaState::checked(const RoundRecord& check) {
  weights_.compared(assignment_.view.number, position_->records());
  times_.reduced(check, now());
  next_round();
}

// What the audits of a step of this view have shown.
void ReplicaState::prove(const RoundRecord& record) {
  const bool of_this_view =
      part_deal_.took() == assignment_.view.number;  // else it was given, before the view was in force
  if (catch_up_.observing() || catch_up_.behind() || !of_this_view) return;
  if (proof_.count(record, audit_round_.audits()))
    self_->send(setup_.node, Compared{assignment_.view.number, proof_.clean()});
}

}  // namespace muster
