#include "actors/coordinator/views/suspect_checkpoints.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>

#include "actors/checkpoint/checkpoint_verdicts.hpp"
#include "actors/coordinator/facts/coordinator_texts.hpp"
#include "actors/coordinator/states/next_view.hpp"
#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "base/canary.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

// What is written where it is not mounted would be lost.
constexpr const char* kAway = "the folder cannot be read now, or is not mounted";

// Whether it is away is known on the thread of the disk alone.
void expect_there(Disk& folder, const FolderSight& sight) {
  if (sight.is_away(folder)) throw DiskError(ENOENT, kAway);
}

// What the disk said to a change.
std::string refusal_of(const std::function<void()>& change) {
  try {
    change();
    return {};
  } catch (const DiskError& error) {
    return error.what();
  }
}

}  // namespace

void SuspectCheckpoints::suspect(std::uint64_t from, bool ends) {
  if (canary("keeps-wrong-results") ||
      (!ends && !checkpoints_.known->hidden_before(from) && !checkpoints_.known->good_before(from)))
    return;
  checkpoints_.suspects.suspect(from);
  checkpoints_.verdicts.give_up();
  journal_.note_suspects();
  set_suspects_aside(checkpoints_.suspects.from());
  keep_no_suspect();
}

void SuspectCheckpoints::keep_no_suspect() {
  if (checkpoints_.suspects.hold(checkpoints_.known->last().step))
    checkpoints_.known->fall_back_before(checkpoints_.suspects.from());
}

void SuspectCheckpoints::suspect_what_is_doubted(bool ends) {
  if (checkpoints_.suspects.in_doubt() &&
      (ends || checkpoints_.known->good_before(checkpoints_.suspects.doubt_from())))
    suspect(checkpoints_.suspects.end_doubt(), ends);
}

void SuspectCheckpoints::set_suspects_aside(std::uint64_t from) {
  if (!run_.setup.checkpoints || from == 0 || run_.term.taken_over())
    return;  // they are another coordinator's
  checkpoints_.verdicts.add(from);
  checkpoints_.known->forget_from(from);
  const std::string refusal = mark_suspects();
  const std::string stay = refusal_of([&] { rename_suspects(from); });
  const auto notice = checkpoints_.verdicts.set_aside(refusal.empty(), stay.empty());
  if (notice == AttemptVerdicts::Notice::none) return;
  const std::string those =
      "checkpoints of step " + std::to_string(from) + " and later may hold wrong results";
  port_.raise(make_event(
      "notice", {{"text", notice == AttemptVerdicts::Notice::stay
                              ? those + ", and cannot be renamed: " + stay + "; remove them before --resume"
                              : those +
                                    "; they are renamed, but not marked: one that is written late cannot be "
                                    "told from a good one; tried again: " +
                                    refusal}}));
}

void SuspectCheckpoints::rename_suspects(std::uint64_t from) const {
  const std::uint64_t history = checkpoints_.verdicts.history();
  change_as_one(*run_.setup.checkpoints,
                "set aside from step " + std::to_string(from) + " of " + std::to_string(history),
                [sight = checkpoints_.known->sight(), from, history](Disk& folder) {
                  expect_there(folder, sight);
                  set_checkpoints_aside(folder, sight.job_hash, from - 1, history);
                });
}

// All verdicts of this coordinator. What the disk said, if it takes them not.
std::string SuspectCheckpoints::mark_suspects() {
  marks_are_late_ = false;
  std::string what = "mark";
  for (const Verdict& verdict : checkpoints_.verdicts.all())
    what += " " + std::to_string(verdict.from_step) + " of " + std::to_string(verdict.history);
  try {
    change_as_one(*run_.setup.checkpoints, what,
                  [sight = checkpoints_.known->sight(), all = checkpoints_.verdicts.all()](Disk& folder) {
                    expect_there(folder, sight);
                    for (const Verdict& verdict : all) add_verdict(folder, sight.job_hash, verdict);
                  });
    return {};
  } catch (const DiskError& error) {
    marks_are_late_ = error.code() == ETIMEDOUT;
    return error.what();
  }
}

void SuspectCheckpoints::mark_suspects_again() {
  if (checkpoints_.verdicts.marked() || run_.term.taken_over() || !mark_suspects().empty()) return;
  checkpoints_.verdicts.marked_late();
  port_.raise(make_event("notice", {{"text", "the checkpoints that may hold wrong results are marked now"}}));
}

void SuspectCheckpoints::remember_verdicts() {
  if (!run_.setup.checkpoints) return;
  const auto from = checkpoints_.verdicts.remember(checkpoints_.known->verdicts_there());
  if (from) checkpoints_.suspects.suspected_before(*from);
}

// What its members wrote in the views before does not count; the disk may have refused to note it.
void SuspectCheckpoints::remember_going_back() {
  if (!reads_checkpoint(run_.view, run_.setup.job.train.in_parts()) || canary("going-back-is-forgotten"))
    return;
  checkpoints_.back_in = run_.view.number;
  if (!run_.view.back || !run_.setup.checkpoints) return;
  const auto noted = checkpoints_.known->verdicts_there();
  if (checkpoints_.verdicts.add_abandoned(run_.view.history, run_.view.source.step, noted))
    checkpoints_.verdicts.mark(mark_suspects().empty());
}

// A run that goes back does its steps again: those that it leaves behind count no more, whoever writes them
// down late. Nobody may have looked whether they are right.
void SuspectCheckpoints::abandon_after(std::uint64_t step, std::uint32_t view) {
  if (canary("abandoned-steps-count")) return;
  checkpoints_.back_in = view;
  checkpoints_.verdicts.give_up();
  journal_.note_suspects();  // or another coordinator has the journal: it may go on with these steps
  set_suspects_aside(step + 1);
}

void SuspectCheckpoints::begin_history() {
  if (!run_.setup.checkpoints) return;
  checkpoints_.known->look();
  try {
    const auto there = checkpoints_.known->manifests();
    read_verdicts(*there, run_.setup.job_hash);
    checkpoints_.verdicts.begin(
        next_history(*there, run_.setup.job.name, run_.setup.job_hash,
                     run_.setup.resume ? run_.setup.resume->manifest : std::string()));
  } catch (const DiskError& error) {
    // One that no verdict in the folder is about, as far as chance goes.
    checkpoints_.verdicts.begin(
        history_of_chance(run_.setup.job.name, port_.now().time_since_epoch().count()));
    port_.raise(make_event(
        "notice",
        {{"text", std::string(error.what()) + "; as long as it is so, no older checkpoint is removed"}}));
  }
}

// Between that checkpoint and the suspects nothing is wrong; but one that was lost may write down such a step
// late, and would remove what the others read now; unless a good one may lie there that the coordinator
// cannot read. The coordinator before may have marked nothing.
void SuspectCheckpoints::go_back_before_suspects(const View& view, const Checkpointed& good) {
  mark_suspects_again();  // the folder may have been away
  const bool abandons = good.step + 1 < checkpoints_.suspects.from() &&
                        !checkpoints_.known->hidden_before(checkpoints_.suspects.from());
  if (abandons || checkpoints_.suspects.were_suspected_before()) {
    checkpoints_.verdicts.give_up();
    set_suspects_aside(abandons ? good.step + 1 : checkpoints_.suspects.from());
  }
  checkpoints_.known->go_on_from(good);
  port_.raise(make_event("went_back", {{"view", number(view.number)},
                                       {"step", number(std::max(run_.steps_done(), good.step))},
                                       {"to_step", number(good.step)},
                                       {"checkpoint", good.manifest},
                                       {"reason", why_suspected(checkpoints_.suspects)}}));
  checkpoints_.suspects.compare_given_up(run_.steps_done(), run_.view);
}

void SuspectCheckpoints::report_kept_suspects(std::uint64_t from) {
  port_.raise(make_event(
      "notice",
      {{"text", "the run goes on with what it has, for no checkpoint before step " + std::to_string(from) +
                    " can be read now; results of this step and later ones may be "
                    "wrong: if this matters, begin the run again"}}));
}

}  // namespace muster
