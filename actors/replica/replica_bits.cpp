// Weights that are compared with those of the other members: a block with each round, and all of them in a
// round of its own, the check, before anything depends on them that outlives this view.
#include "actors/replica/replica.hpp"

namespace muster {

// Every replica looks at every place, so that all know alike where a checkpoint is due.
void ReplicaState::look_at_place() {
  const CoursePoint here = course_point(position_->course().cursor(), position_->course().steps());
  if (here == looked_at_) return;
  const CoursePoint before = std::exchange(looked_at_, here);
  write_due_ = parts_.checkpoints && checkpoint_due(parts_.checkpoints->every(), before, here);
  due_at_.reset();
  if (write_due_) due_at_ = position_->records();
}

bool ReplicaState::check_due() const {
  const View& view = part_.view;
  if (view.replicas.size() < 2 || checked_ == std::pair(view.number, position_->records())) return false;
  // States or records, from one to another or from a disk.
  const bool given = !view.unproven.empty() || !view.behind.empty() || view.back;
  return (given && checked_.first != view.number) || view.last || position_->course().finished() ||
         due_at_ == position_->records();
}

void ReplicaState::begin_check() {
  parts_.bench->progress->now(Activity::updating);
  lap();
  compute([step = position_->course().steps()](Workbench& bench) {
    return Weighed{0, weigh_all(bench, step), {}};
  });
}

void ReplicaState::on(const Weighed& message) {
  if (message.turn != turn_) return;
  if (!message.error.empty()) return trouble("the weights could not be hashed: " + message.error);
  if (halted_) return;
  parts_.bench->progress->now(Activity::reducing);
  phases_.update_s += lap();
  RoundHeader opening = header(RoundKind::check);
  opening.weights = weighed_ = message.weights;
  self_->send(reducer_, Open{part_.view.number, std::move(opening), nullptr, 0, nullptr});
}

// All members have these weights.
void ReplicaState::checked(const RoundRecord& check) {
  checked_ = {part_.view.number, position_->records()};
  traffic_ += check.sent;
  phases_.reduce_s += lap();
  next_round();
}

// What the audits of a step of this view have shown.
void ReplicaState::prove(const RoundRecord& record) {
  const bool of_this_view =
      part_deal_.took() == part_.view.number;  // else it was given, before the view was in force
  if (catch_up_.observing() || catch_up_.behind() || !of_this_view) return;
  if (proof_.count(record, audit_round_.audits()))
    self_->send(parts_.node, Compared{part_.view.number, proof_.clean()});
}

}  // namespace muster
