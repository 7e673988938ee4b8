// Results that hold wrong bits: which steps may have them, and the checkpoint before these, to which all go
// back. Checkpoints that may hold them are set aside, so that nobody goes on from one.
#include <algorithm>
#include <functional>

#include "actors/checkpoint/checkpoint_verdicts.hpp"
#include "actors/coordinator/coordinator.hpp"
#include "actors/coordinator/coordinator_bits.hpp"
#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "actors/messages/clean_steps.hpp"
#include "actors/rules/steps/weight_blocks.hpp"
#include "base/canary.hpp"

namespace muster {

namespace {

std::string steps_text(std::uint64_t from, std::uint64_t to) {
  return from == to ? "step " + std::to_string(from)
                    : "steps " + std::to_string(from) + " to " + std::to_string(to);
}

// What is written where it is not mounted would be lost.
constexpr const char* kAway = "the folder cannot be read now, or is not mounted";

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

// The first step whose result may be wrong. Behind the last one that was done: none is. A record that differs
// has been found before anything was computed with it.
std::uint64_t CoordinatorState::first_in_doubt(const UnlikeBits& message, const Judgement& judgement) const {
  const auto& slots = judgement.odd.empty() ? message.slots : judgement.odd;
  const std::uint64_t behind = last_done(message) + 1;
  std::uint64_t from = behind;
  for (const std::uint32_t slot : slots) {
    const std::uint64_t clean = membership_->at({false, slot}).bits.clean;
    if (bits_of(message) == Bits::gradient) from = std::min(from, first_unclean(clean, behind));
    if (bits_of(message) != Bits::weights || clean == kCleanUntilView) continue;
    const NodeRecord& record = membership_->at({false, slot});
    from = std::min(from, first_wrong_weights(message.step, weight_blocks(record.prepared.elements),
                                              record.bits.alone_from));
  }
  if (judgement.odd.empty() && suspects_.in_doubt()) from = std::min(from, suspects_.doubt_from());
  return from;
}

// By the job's policy, or because it cannot lose a replica.
bool CoordinatorState::ends_with(const Judgement& judgement) const {
  if (judgement.act != Judgement::Act::evict) return judgement.act == Judgement::Act::stop;
  return std::ranges::any_of(judgement.odd, [this](std::uint32_t slot) {
    return membership_->alive({false, slot}) && !goes_on_without({false, slot});
  });
}

// One sentence for people.
std::string CoordinatorState::what_follows(const UnlikeBits& message, const Judgement& judgement,
                                           std::uint64_t from) const {
  using Act = Judgement::Act;
  const std::uint64_t done = last_done(message);
  if (judgement.act == Act::again && from > done)
    return "nothing is needed yet: the step is not applied before it is known who is wrong";
  if (!judgement.sure)
    return "the newcomer is turned away; whether it or those who were there before are wrong, only a further "
           "replica can tell: start one more (muster join), and begin the run again if that one differs, too";
  if (from > done) return "nothing is needed for the weights: no step that was applied holds wrong results";
  const std::string may = steps_text(from, done) + " may hold wrong results";
  const auto good = checkpoints_->good_before(from);
  const std::string before = good ? good->manifest : std::string();
  const bool goes_on = judgement.act != Act::report && !ends_with(judgement);
  if (!good && checkpoints_->hidden_before(from))
    return may + "; checkpoint.folder, or some of it, cannot be read now" +
           (goes_on ? ": as soon as it can, the run goes on from a checkpoint before them"
                    : ": make it readable, and go on with --resume from a checkpoint before them");
  if (goes_on) {
    return good ? may + "; the run goes back to " + before
                : may + ", and no checkpoint before them is there; if this matters, begin the run again";
  }
  if (judgement.act == Act::report) {
    return may + (good ? "; for the exact bits, end the run, move later checkpoints than " + before +
                             " away, and go on with --resume"
                       : "; for the exact bits, begin the run again");
  }
  return may + (good ? "; the last checkpoint without them is " + before + ": go on with --resume"
                     : ", and no checkpoint without them is there: begin again");
}

// Until all have gone back. However the run ends before that, nobody goes on from what may be wrong.
// Where there is nothing to go back to, a run that goes on does so with what it has. A folder that cannot be
// read now is looked into again when the view is made.
void CoordinatorState::suspect(std::uint64_t from, bool ends) {
  if (canary("keeps-wrong-results") ||
      (!ends && !checkpoints_->hidden_before(from) && !checkpoints_->good_before(from)))
    return;
  suspects_.suspect(from);
  verdicts_.give_up();
  note_suspects();
  set_suspects_aside(suspects_.from());
  keep_no_suspect();
}

void CoordinatorState::keep_no_suspect() {
  if (suspects_.hold(checkpoints_->last().step)) checkpoints_->fall_back_before(suspects_.from());
}

// Who could tell is lost, or the run ends before they have.
void CoordinatorState::suspect_what_is_doubted(bool ends) {
  if (suspects_.in_doubt() && (ends || checkpoints_->good_before(suspects_.doubt_from())))
    suspect(suspects_.end_doubt(), ends);
}

// One that is started anew must know of it: who told of it may be lost.
void CoordinatorState::note_suspects() {
  try {
    note(view_);
  } catch (const Error&) {
    // The next view is noted, too, and waits for its journal.
  }
}

// Either is enough for those that are there; a full disk may still rename. Only a verdict tells of those that
// are written late.
void CoordinatorState::set_suspects_aside(std::uint64_t from) {
  if (!setup_.checkpoints || from == 0 || term_.taken_over()) return;  // they are another coordinator's
  verdicts_.add(from);
  checkpoints_->forget_from(from);
  const std::string refusal = mark_suspects();
  const std::string stay = checkpoints_->is_away() ? kAway : refusal_of([&] {
    set_checkpoints_aside(*setup_.checkpoints, setup_.job_hash, from - 1, verdicts_.history());
  });
  const auto notice = verdicts_.set_aside(refusal.empty(), stay.empty());
  if (notice == AttemptVerdicts::Notice::none) return;
  const std::string those =
      "checkpoints of step " + std::to_string(from) + " and later may hold wrong results";
  raise(make_event(
      "notice", {{"text", notice == AttemptVerdicts::Notice::stay
                              ? those + ", and cannot be renamed: " + stay + "; remove them before --resume"
                              : those +
                                    "; they are renamed, but not marked: one that is written late cannot be "
                                    "told from a good one; tried again: " +
                                    refusal}}));
}

// All verdicts of this coordinator. What the disk said, if it takes them not.
std::string CoordinatorState::mark_suspects() const {
  return checkpoints_->is_away() ? kAway : refusal_of([&] {
    for (const Verdict& verdict : verdicts_.all()) add_verdict(*setup_.checkpoints, setup_.job_hash, verdict);
  });
}

void CoordinatorState::mark_suspects_again() {
  if (verdicts_.marked() || term_.taken_over() || !mark_suspects().empty()) return;
  verdicts_.marked_late();
  raise(make_event("notice", {{"text", "the checkpoints that may hold wrong results are marked now"}}));
}

// On the attempt of the members that come back.
void CoordinatorState::remember_verdicts() {
  if (!setup_.checkpoints) return;
  const auto from = verdicts_.remember(readable_verdicts(*setup_.checkpoints, setup_.job_hash));
  if (from) suspects_.suspected_before(*from);
}

// What its members wrote in the views before does not count; the disk may have refused to note it.
void CoordinatorState::remember_going_back() {
  if (!reads_checkpoint(view_, setup_.job.train.in_parts()) || canary("going-back-is-forgotten")) return;
  back_in_ = view_.number;
  if (!view_.back || !setup_.checkpoints) return;
  const auto noted = readable_verdicts(*setup_.checkpoints, setup_.job_hash);
  if (verdicts_.add_abandoned(view_.history, view_.source.step, noted))
    verdicts_.mark(mark_suspects().empty());
}

// A run that goes back does its steps again: those that it leaves behind count no more, whoever writes them
// down late. Nobody may have looked whether they are right.
void CoordinatorState::abandon_after(std::uint64_t step, std::uint32_t view) {
  if (canary("abandoned-steps-count")) return;
  back_in_ = view;
  verdicts_.give_up();
  note_suspects();  // or another coordinator has the journal: it may go on with these steps
  set_suspects_aside(step + 1);
}

// Who writes checkpoints into this folder for another run, or for an older attempt of this one, writes them
// into another history.
void CoordinatorState::begin_history() {
  if (!setup_.checkpoints) return;
  checkpoints_->look();
  try {
    read_verdicts(*setup_.checkpoints, setup_.job_hash);
    verdicts_.begin(next_history(*setup_.checkpoints, setup_.job.name, setup_.job_hash,
                                 setup_.resume ? setup_.resume->manifest : std::string()));
  } catch (const DiskError& error) {
    // One that no verdict in the folder is about, as far as chance goes.
    verdicts_.begin(history_of_chance(setup_.job.name, self_->clock().now().time_since_epoch().count()));
    raise(make_event("notice", {{"text", std::string(error.what()) +
                                             "; as long as it is so, no older checkpoint is removed"}}));
  }
}

// Between that checkpoint and the suspects nothing is wrong; but one that was lost may write down such a step
// late, and would remove what the others read now; unless a good one may lie there that the coordinator
// cannot read. The coordinator before may have marked nothing.
void CoordinatorState::go_back_before_suspects(const View& view, const Checkpointed& good) {
  mark_suspects_again();  // the folder may have been away
  const bool abandons = good.step + 1 < suspects_.from() && !checkpoints_->hidden_before(suspects_.from());
  if (abandons || suspects_.were_suspected_before()) {
    verdicts_.give_up();
    set_suspects_aside(abandons ? good.step + 1 : suspects_.from());
  }
  checkpoints_->go_on_from(good);
  raise(make_event("went_back", {{"view", number(view.number)},
                                 {"step", number(std::max(steps_done(), good.step))},
                                 {"to_step", number(good.step)},
                                 {"checkpoint", good.manifest},
                                 {"reason", why_suspected()}}));
  suspects_.compare_given_up(steps_done(), view_);
}

void CoordinatorState::report_kept_suspects(std::uint64_t from) {
  raise(make_event("notice", {{"text", "the run goes on with what it has, for no checkpoint before step " +
                                           std::to_string(from) +
                                           " can be read now; results of this step and later ones may be "
                                           "wrong: if this matters, begin the run again"}}));
}

std::string CoordinatorState::why_suspected() const {
  const std::string those = "step " + std::to_string(suspects_.from()) + " and later";
  return suspects_.were_suspected_before()
             ? those +
                   " were given up before the coordinator was started again: their results "
                   "may be wrong, or parts of the state were lost"
             : "results of " + those + " may be wrong (event corrupt)";
}

}  // namespace muster
