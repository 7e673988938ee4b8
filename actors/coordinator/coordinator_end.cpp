// How a run that is told to end keeps its state: a last view, in which no step is made and one member writes
// a checkpoint. And how a view waits for a journal whose disk takes nothing.
#include <algorithm>

#include "actors/coordinator/coordinator.hpp"
#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "base/canary.hpp"
#include "muster/error.hpp"

namespace muster {

// ---- the last view

// Whether there is anything to keep, and a place for it. Then the run ends within checkpoint.grace.
bool CoordinatorState::begin_keeping(const std::string& outcome, const std::string& reason) {
  if (setup_.job.checkpoint.folder.empty() || !begun_ || canary("stops-without-state")) return false;
  const Time now = self_->clock().now();
  training_.end(now);
  end_.keep_state(outcome, reason, now + setup_.job.checkpoint.grace);
  return true;
}

bool CoordinatorState::keep_state(const std::string& outcome, const std::string& reason) {
  if (!begin_keeping(outcome, reason)) return false;
  if (phase_ == CoordinatorPhase::running) {
    close_view();
  } else if (phase_ == CoordinatorPhase::paused || phase_ == CoordinatorPhase::noting) {
    next_view();  // all have closed the one before
  }
  return true;  // in the other phases a view is under way, and the last one follows it
}

// All who are left come to one record, and to one place for the parts of what is held in parts.
void CoordinatorState::last_view() {
  suspect_what_is_doubted(true);
  keep_no_damaged();
  const NextView next = membership_->views().last_of_run(view_);
  if (!next.view) return not_kept(next.missing + end_.refusal());
  if (next.lost) return not_kept("a part of the state was lost with a replica");
  View view = *next.view;
  if (view.source.view == 0 && checkpoints_->is_passed_over(view.source.checkpoint))
    begin_with(view, checkpoints_->last());
  if (view.records == 0 && !checkpoints_->passed_over_any()) return not_kept("no step was done");
  if (view.records == 0) {
    const auto hidden = checkpoints_->hidden_before(suspects_.good_before());
    return not_kept("no checkpoint is left that can be read" +
                    (hidden ? " now (" + *hidden + "); --resume looks again" : std::string()));
  }
  if (suspects_.any()) return not_kept("the weights may hold wrong results of a replica");
  if (view.records == checkpoints_->last().records && checkpoints_->any())
    return state_kept(checkpoints_->last());
  const bool went_back_half = view_.back && latest_view_taken(membership_->nodes()) < view_.number;
  if (went_back_half) return not_kept("the weights may hold wrong results of a replica");
  install(view);
}

void CoordinatorState::on(const Checkpointed& message) {
  mark_suspects_again();
  if (message.view < back_in_) return;  // it was set aside
  if (checkpoints_->refuses(message)) return;
  if (suspects_.hold(message.step)) return set_suspects_aside(suspects_.from());
  checkpoints_->look();
  if (message.folder.empty()) {
    checkpoints_->know_of_one();
    const bool is_void = !verdicts_.all().empty() && !view_.last && checkpoints_->is_gone(message.manifest);
    if (!is_void) checkpoints_->reported(message);
  }
  if (end_.keeps_state() && !end_.decided() && view_.last && message.records >= view_.records)
    state_kept(message);
}

// What the disk said last is part of the answer, should no last checkpoint be written.
void CoordinatorState::on(const Raised& message) {
  const std::string& what = message.event.name;
  if (what == "checkpoint_delayed" || what == "checkpoint_failed")
    end_.checkpoint_refused("; of a checkpoint it was said: " + message.event.text("reason") + "; " +
                            message.event.text("advice"));
  if (what == "checkpoint") end_.checkpoint_written();
  raise(message.event);
}

void CoordinatorState::state_kept(const Checkpointed& message) {
  report_.checkpoint = message.path;
  report_.kept = {message.step, message.folder};
  report_.steps = std::max(report_.steps, message.step);  // its last report may not have come
  report_.weights_sha256 = message.weights_sha256;
  if (end_.outcome() == "failed" && !message.path.empty())
    end_.add_reason("; the state is kept in " + message.path);
  raise(
      make_event("state_kept",
                 {{"step", number(message.step)}, {"checkpoint", message.manifest}, {"path", message.path}}));
  end_as_asked();
}

void CoordinatorState::not_kept(const std::string& reason) {
  keep_no_damaged();
  if (checkpoints_->any() && !verdicts_.suspects_stay()) report_.kept = {checkpoints_->last().step, {}};
  raise(make_event("state_not_kept",
                   {{"reason", reason},
                    {"step", number(heard_of().steps)},
                    {"last_checkpoint", checkpoints_->any() ? checkpoints_->last().manifest : "none"}}));
  end_as_asked();
}

void CoordinatorState::end_as_asked() {
  const std::string outcome = end_.outcome(), reason = end_.reason();
  if (outcome == "failed") raise(make_event("failed", {{"reason", reason}}));
  conclude(outcome, reason);
}

// ---- a journal whose disk takes nothing

// Whether the view is in the journal. If not, members keep what they hold, and it is tried again; the last
// view of a run waits for no journal.
bool CoordinatorState::noted(const View& view) {
  try {
    note(view);
  } catch (const Error& error) {
    if (term_.taken_over()) return false;
    if (canary("journal-full-fails")) {
      fail("the journal cannot be written, so no view can be made: " + std::string(error.what()));
      return false;
    }
    if (view.last) return true;
    phase_ = CoordinatorPhase::noting;
    journal_refused(view, error.what());
    return false;
  }
  return true;
}

void CoordinatorState::journal_refused(const View& view, const std::string& reason) {
  const auto give_up = setup_.job.cluster.give_up_after;
  const auto wait = pending_.refuse(view, self_->clock().now(), give_up);
  raise(make_event("journal_delayed", {{"view", number(view.number)},
                                       {"reason", reason},
                                       {"again_ms", milliseconds(wait)},
                                       {"give_up_ms", milliseconds(give_up)}}));
}

// Of a restarted coordinator: its term, or what a member told. Before that is written no member counts as
// back; each asks again.
bool CoordinatorState::note_what_it_lacks() {
  if (!term_.journal_is_behind()) return true;
  if (pending_.refused_until_later(self_->clock().now())) return false;
  try {
    note(view_);
  } catch (const Error& error) {
    if (!term_.taken_over()) journal_refused(view_, error.what());
    return false;
  }
  return true;
}

// Results turned out to be wrong since it was made, or a newcomer that it would take in is gone, or goes.
bool CoordinatorState::is_outdated(const View& view) const {
  if (suspects_.any() && !view.back) return true;
  const auto gone = [this](const Member& member) {
    return !membership_->alive(member.name) ||
           (membership_->at(member.name).leaving && !view_.holds(member.name));
  };
  return std::ranges::any_of(view.replicas, gone) || std::ranges::any_of(view.loaders, gone);
}

void CoordinatorState::note_again() {
  using Due = PendingView::Due;
  const bool returns = term_.journal_is_behind();  // nobody is back before the journal says so
  switch (pending_.due({phase_ == CoordinatorPhase::noting, returns, gathering_.tries_to_begin_anew()},
                       self_->clock().now())) {
    case Due::nothing:  // where the run begins anew see begin_with_those_here
      return;
    case Due::lacking:
      return void(note_what_it_lacks());
    case Due::make:
      return next_view();
    case Due::install:
      if (!is_outdated(pending_.view())) return install(View(pending_.view()));
      return begun_ ? next_view() : try_to_begin_anew();
    case Due::give_up:
      return give_up_journal();
  }
}

void CoordinatorState::give_up_journal() {
  const std::string reason = "the journal could not be written for " +
                             std::to_string(setup_.job.cluster.give_up_after.count()) +
                             " ms (cluster.give_up_after), so no view can be made";
  if (term_.journal_is_behind())
    return fail(reason +
                "; replicas that live keep their state, and go on with this job's coordinator if it "
                "is started again within cluster.orphan_after");
  if (gathering_.tries_to_begin_anew() || !keep_state("failed", reason))
    fail(reason);  // nobody has a state yet
}

}  // namespace muster
