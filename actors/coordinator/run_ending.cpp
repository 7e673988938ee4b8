#include "actors/coordinator/run_ending.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "actors/coordinator/facts/run_standing.hpp"
#include "actors/coordinator/states/next_view.hpp"
#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "base/canary.hpp"
#include "muster/error.hpp"

namespace muster {

void RunEnding::on(const StopRequest& message) {
  switch (run_.end.told_to_end(message.reason, message.waits)) {
    case RunEnd::Told::known:
      return;
    case RunEnd::Told::second:
      return not_kept("the run was told to end for the second time");
    case RunEnd::Told::notice:
      return port_.raise(make_event("notice", {{"text",
                                                "the run ends already, and writes a last checkpoint; told to "
                                                "end again, it ends without"}}));
    case RunEnd::Told::first:
      break;
  }
  port_.raise(make_event("interrupted", {{"reason", message.reason}}));
  if (!keep_state("interrupted", message.reason)) return conclude("interrupted", message.reason);
  run_.end.was_told();
}

// Whether there is anything to keep, and a place for it. Then the run ends within checkpoint.grace.
bool RunEnding::begin_keeping(const std::string& outcome, const std::string& reason) {
  if (run_.setup.job.checkpoint.folder.empty() || !run_.begun || canary("stops-without-state")) return false;
  const auto now = port_.now();
  run_.training.end(now);
  run_.end.keep_state(outcome, reason,
                      now + run_.setup.job.checkpoint.grace / (canary("grace-is-short") ? 50 : 1));
  return true;
}

bool RunEnding::keep_state(const std::string& outcome, const std::string& reason) {
  if (!begin_keeping(outcome, reason)) return false;
  if (run_.phase == CoordinatorPhase::running) {
    views_.close_view();
  } else if (run_.phase == CoordinatorPhase::paused || run_.phase == CoordinatorPhase::noting) {
    views_.next_view();  // all have closed the one before
  }
  return true;  // in the other phases a view is under way, and the last one follows it
}

// All who are left come to one record, and to one place for the parts of what is held in parts.
void RunEnding::last_view() {
  suspect_checkpoints_.suspect_what_is_doubted(true);
  rollback_.keep_no_damaged();
  const NextView next = run_.membership->views().last_of_run(run_.view);
  if (!next.view) return not_kept(next.missing + run_.end.refusal());
  if (next.lost) return not_kept("a part of the state was lost with a replica");
  if (canary("one-loss-keeps-nothing") && run_.report.event_counts.contains("lost"))
    return not_kept("no replica that holds the state is left");
  View view = *next.view;
  if (view.source.view == 0 && checkpoints_.known->is_passed_over(view.source.checkpoint))
    begin_with(view, checkpoints_.known->last());
  if (view.records == 0 && !checkpoints_.known->passed_over_any()) return not_kept("no step was done");
  if (view.records == 0) {
    const auto hidden = checkpoints_.known->hidden_before(checkpoints_.suspects.good_before());
    return not_kept("no checkpoint is left that can be read" +
                    (hidden ? " now (" + *hidden + "); --resume looks again" : std::string()));
  }
  if (checkpoints_.suspects.any()) return not_kept("the weights may hold wrong results of a replica");
  if (view.records == checkpoints_.known->last().records && checkpoints_.known->any())
    return state_kept(checkpoints_.known->last());
  const bool went_back_half =
      run_.view.back && latest_view_taken(run_.membership->nodes()) < run_.view.number;
  if (went_back_half) return not_kept("the weights may hold wrong results of a replica");
  views_.install(view);
}

void RunEnding::on(const Checkpointed& message) {
  suspect_checkpoints_.mark_suspects_again();
  checkpoints_.known->others_write();
  if (message.view < checkpoints_.back_in) return;  // it was set aside
  if (checkpoints_.known->refuses(message)) return;
  if (checkpoints_.suspects.hold(message.step))
    return suspect_checkpoints_.set_suspects_aside(checkpoints_.suspects.from());
  checkpoints_.known->look();
  if (message.folder.empty()) {
    checkpoints_.known->know_of_one();
    const bool is_void = !checkpoints_.verdicts.all().empty() && !run_.view.last &&
                         checkpoints_.known->is_gone(message.manifest);
    if (!is_void) checkpoints_.known->reported(message);
  }
  if (run_.end.keeps_state() && !run_.end.decided() && run_.view.last && message.records >= run_.view.records)
    state_kept(message);
}

// What the disk said last is part of the answer, should no last checkpoint be written.
void RunEnding::on(const Raised& message) {
  const std::string& what = message.event.name;
  if (what == "checkpoint_delayed" || what == "checkpoint_failed")
    run_.end.checkpoint_refused("; of a checkpoint it was said: " + message.event.text("reason") + "; " +
                                message.event.text("advice"));
  if (what == "checkpoint") run_.end.checkpoint_written();
  port_.raise(message.event);
}

void RunEnding::state_kept(const Checkpointed& message) {
  run_.report.checkpoint = message.path;
  run_.report.kept = {message.step, message.folder};
  if (message.step > run_.report.steps) {  // the report of its last step may not have come
    run_.report.steps = message.step;
    run_.report.samples = std::max(run_.report.samples, message.samples);
  }
  run_.report.weights_sha256 = message.weights_sha256;
  if (run_.end.outcome() == "failed" && !message.path.empty())
    run_.end.add_reason("; the state is kept in " + message.path);
  port_.raise(
      make_event("state_kept",
                 {{"step", number(message.step)}, {"checkpoint", message.manifest}, {"path", message.path}}));
  end_as_asked();
}

void RunEnding::not_kept(const std::string& reason) {
  rollback_.keep_no_damaged();
  if (checkpoints_.known->any() && !checkpoints_.verdicts.suspects_stay())
    run_.report.kept = {checkpoints_.known->last().step, {}};
  port_.raise(make_event(
      "state_not_kept",
      {{"reason", reason},
       {"step", number(heard_of(run_, checkpoints_).steps)},
       {"last_checkpoint", checkpoints_.known->any() ? checkpoints_.known->last().manifest : "none"}}));
  end_as_asked();
}

void RunEnding::end_as_asked() {
  const std::string outcome = run_.end.outcome(), reason = run_.end.reason();
  if (outcome == "failed") port_.raise(make_event("failed", {{"reason", reason}}));
  conclude(outcome, reason);
}

void RunEnding::fail(const std::string& reason) {
  if (run_.end.decided()) return;
  port_.raise(make_event("failed", {{"reason", reason}}));
  conclude("failed", reason);
}

// Its own error, or one of an observer in this process, which may come again.
void RunEnding::fail_of(const std::exception_ptr& thrown) {
  std::string reason = "a bug in the coordinator";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    reason += std::string(": ") + error.what();
  } catch (...) {
    // It says nothing of itself.
  }
  try {
    fail(reason);
  } catch (...) {
    conclude("failed", reason);
  }
}

void RunEnding::give_up() {
  const std::string starved = list_of(run_.membership->transfers().without_state());
  const std::string reason =
      "no nodes came within " + std::to_string(run_.setup.job.cluster.give_up_after.count()) +
      " ms (cluster.give_up_after)" +
      (starved.empty() ? "" : ", but " + starved + ", which got no state from a member");
  if (keep_state("failed", reason)) return;
  fail(reason + "; with checkpoint.folder the state would have been kept");
}

// Of the end. Who could not be heard may live, and hold steps that no verdict may throw away: the journal
// does not count as ended, and a coordinator that is started again waits for them.
bool RunEnding::all_know() const {
  if (canary("verdict-beats-state")) return true;
  if (run_.phase == CoordinatorPhase::adopting || run_.unknown_members_may_come()) return false;
  return std::ranges::all_of(run_.membership->nodes(), [this](const auto& node) {
    return !run_.membership->alive(node.first) || run_.watch->in_touch(node.first, port_.elapsed());
  });
}

// Whether those who are not heard now are better left alone: a coordinator that is started again finds them
// by its journal. Where results may be wrong they are to hear so, whenever that is.
bool RunEnding::may_be_found_again(const std::string& outcome) const {
  return run_.setup.journal && outcome != "completed" && run_.silence.lasts() &&
         !checkpoints_.suspects.any() && !canary("unheard-are-told");
}

void RunEnding::conclude(const std::string& outcome, const std::string& reason) {
  if (outcome != "completed") suspect_checkpoints_.suspect_what_is_doubted(true);
  if (run_.term.taken_over()) return;
  if (outcome != "completed" && !run_.end.gives_up_silence()) rollback_.keep_no_damaged();
  const auto now = port_.now();
  run_.end.decide(now);
  run_.training.end_at_latest(now);
  if (run_.setup.on_conclude) run_.setup.on_conclude();
  run_.report.outcome = outcome;
  run_.report.reason = reason;
  journal_.last_note(false);  // or another one has taken this run over: then nobody is told
  if (run_.term.taken_over()) return;
  arrivals_.refuse_callers("the run has ended");
  const bool leaves_unheard = run_.end.gives_up_silence() || may_be_found_again(outcome);
  // They have done what they were told.
  const bool all_good = outcome != "failed" && run_.report.event_counts.count("state_not_kept") == 0;
  for (const NodeName& who : port_.known()) {
    const bool good = all_good || run_.membership->at(who).leaving;
    // A message that waits in the connection would end those who live when their link is good again.
    if (leaves_unheard && !run_.watch->in_touch(who, port_.elapsed())) continue;
    if (run_.membership->alive(who))
      port_.send(who, Stop{good, reason, false, false, checkpoints_.suspects.from()});
  }
  if (!run_.report.completed()) run_.end.tell(all_know());
  // Those who live are further than the checkpoint.
  if (outcome != "completed" && !run_.report.kept && checkpoints_.known->any() &&
      !run_.end.gives_up_silence() && !checkpoints_.verdicts.suspects_stay())
    run_.report.kept = Report::Kept{checkpoints_.known->last().step, {}};
  // After a failure of a launcher nobody is waited for: it ends by force what does not end by itself. But one
  // that is told so while it writes what may be wrong says so, and that is set aside; and whose nodes were
  // started by hand knows only by their going that they have heard it.
  const bool waits =
      outcome == "completed" || run_.end.keeps_state() || checkpoints_.suspects.any() || run_.setup.journal;
  if (!waits || run_.membership->none_alive()) finish();
}

// Without the marks --resume may go on from such a checkpoint.
bool RunEnding::waits_for_marks() const {
  return suspect_checkpoints_.marks_are_late() && !run_.term.taken_over() &&
         run_.end.may_wait_for_marks(port_.now());
}

void RunEnding::finish() {
  if (!waits_for_marks()) finish_at_once();
}

void RunEnding::finish_at_once() {
  if (!run_.end.finish()) return;
  run_.report.epochs = run_.epochs.counted();
  try {
    sum_up();
  } catch (const std::exception&) {
    // What is told of the end may fail; that the run ends does not.
  }
  port_.tell_end(status_of(run_, checkpoints_, port_.elapsed()));
  // What was not heard by all when the run ended has not been heard since.
  const bool told = run_.end.all_were_told() && all_know();
  const bool ended =
      told && (run_.report.completed() || run_.membership->none_alive() || canary("verdict-beats-state"));
  run_.report.members_may_live = run_.setup.journal && !ended;
  if (run_.setup.on_end) run_.setup.on_end(run_.report);
  // Behind the report: one that dies between the two tells it again, rather than never.
  journal_.last_note(ended);
}

void RunEnding::sum_up() {
  suspect_checkpoints_.mark_suspects_again();
  if (checkpoints_.suspects.any())
    suspect_checkpoints_.set_suspects_aside(checkpoints_.suspects.from());  // what was written meanwhile
  if (run_.report.completed()) port_.raise(make_event("completed", {{"steps", number(run_.report.steps)}}));
  run_.report.wall_seconds = std::chrono::duration<double>(port_.elapsed()).count();
  double evaluating = 0;
  for (const auto& [slot, phases] : run_.report.phases) evaluating = std::max(evaluating, phases.evaluate_s);
  if (!run_.report.completed())
    std::tie(run_.report.steps, run_.report.samples) =
        std::pair(heard_of(run_, checkpoints_).steps, heard_of(run_, checkpoints_).samples);
  const std::uint64_t before = run_.setup.resume ? run_.setup.resume->samples : 0;
  const auto trained = run_.training.sum_up(run_.report.samples, before, evaluating);
  if (!run_.begun || !trained) return;
  run_.report.train_seconds = trained->seconds;
  run_.report.samples_per_second = trained->samples_per_second;
}

}  // namespace muster
