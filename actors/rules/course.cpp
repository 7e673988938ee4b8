#include "muster/actors/rules/course.hpp"

namespace muster {

CourseOptions course_options(const Job& job, bool has_test) {
  CourseOptions options;
  options.steps = job.train.steps;
  options.passes = job.train.steps ? job.data.repeat.value_or(1) : job.train.epochs.value_or(1);
  options.evaluate = job.train.evaluate && has_test;
  return options;
}

Course::Move Course::step_committed() {
  ++steps_;
  ++cursor_.step;
  if (options_.steps && steps_ == *options_.steps) return end_epoch(false);
  return {};
}

Course::Move Course::all_ended() {
  return end_epoch(true);
}

Course::Move Course::end_epoch(bool data_ended) {
  // An epoch without a single step will not get better by being repeated.
  if (cursor_.step == 0) {
    finished_ = true;
  } else if (options_.evaluate) {
    cursor_ = {Phase::evaluate, cursor_.epoch, 0};
  } else {
    next_epoch();
  }
  return {true, data_ended};
}

void Course::evaluated() {
  next_epoch();
}

void Course::next_epoch() {
  const bool enough = options_.steps && steps_ >= *options_.steps;
  if (enough || !has_epoch_after(options_, cursor_.epoch)) {
    finished_ = true;
  } else {
    cursor_ = {Phase::train, cursor_.epoch + 1, 0};
  }
}

}  // namespace muster
