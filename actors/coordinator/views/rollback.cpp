#include "actors/coordinator/views/rollback.hpp"

#include <algorithm>

#include "actors/coordinator/states/next_view.hpp"
#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "base/canary.hpp"

namespace muster {

namespace {

// What is read may be large: for so many times cluster.give_up_after, and at least so long.
constexpr int kReadingGiveUps = 5;
constexpr std::chrono::milliseconds kReadingMin = std::chrono::minutes(10);

std::vector<std::uint32_t> slots_of(const std::vector<Member>& replicas) {
  std::vector<std::uint32_t> slots;
  for (const Member& member : replicas) slots.push_back(member.name.slot);
  return slots;
}

}  // namespace

void Rollback::give_up_lost_parts(const View& view, const PartHolder& lost) {
  checkpoints_.known->take_newer_before(checkpoints_.suspects.good_before());
  const Checkpointed& kept = checkpoints_.known->last();
  suspect_checkpoints_.abandon_after(kept.step, view.number);
  if (run_.term.taken_over()) return;
  port_.raise(make_event(
      "went_back",
      {{"view", number(view.number)},
       {"step", number(std::max(run_.steps_done(), kept.step))},
       {"to_step", number(kept.step)},
       {"checkpoint", kept.manifest.empty() ? std::string("the beginning") : kept.manifest},
       {"reason", "replica " + std::to_string(lost.owner) + " is lost" +
                      (lost.buddy == lost.owner ? ", and nobody had a second copy of its part"
                                                : ", and so is replica " + std::to_string(lost.buddy) +
                                                      ", which had the second copy of its part")}}));
}

// What its members do again counts anew, and they tell again of the epochs before it. Who told of them may
// have been wrong, or be gone.
void Rollback::forget_after(const View& view) {
  const std::uint64_t step = view.source.step;
  checkpoints_.back_in = view.number;
  run_.report.steps = std::min(run_.report.steps, step);
  run_.epochs.go_back(step);
  // Who does the steps behind that again tells of theirs.
  const bool resumed = run_.setup.resume && run_.setup.resume->step <= step;
  run_.report.samples = resumed ? run_.setup.resume->samples : 0;
  for (const EpochEnd& row : run_.epochs.counted())
    run_.report.samples = std::max(run_.report.samples, row.samples);
}

void Rollback::enters(const View& view, bool reads) {
  if (!reads || view.source.checkpoint != run_.view.source.checkpoint) mounts_.end();
  answers_.entered();
  goes_further_ = false;
  run_.timers.restart(PhaseTimers::Wait::going_back);
  run_.timers.restart(PhaseTimers::Wait::reading);
}

void Rollback::stop_waiting() {
  folder_wait_.end();
  mounts_.end();
}

void Rollback::stood_still(std::chrono::nanoseconds gap, CoordinatorPort::Time now) {
  folder_wait_.stood_still(gap, now);
  mounts_.stood_still(gap, now);
}

void Rollback::on(const WentBack& message) {
  if (run_.end.decided() || message.view != run_.view.number || !run_.membership->member(message.name))
    return;
  answers_.said(message.name.slot, message.error, message.unread);
  judge_going_back(false);
}

bool Rollback::judge_going_back(bool tick) {
  if (!run_.in_force() || run_.took_effect) return false;
  const auto& cluster = run_.setup.job.cluster;
  const GoingBack::Verdict verdict = answers_.judge(slots_of(run_.view.replicas));
  if (verdict.any_can && verdict.act == GoingBack::Act::nothing) mounts_.end();  // all have
  switch (verdict.act) {
    case GoingBack::Act::nothing:
      run_.timers.restart(PhaseTimers::Wait::going_back);
      return !verdict.any_can && wait_for_readers(tick);
    case GoingBack::Act::wait:
      // Who tries again has its own time, from when its disk refused first; and its last report is under way.
      if (!run_.timers.is_over(PhaseTimers::Wait::going_back,
                               (verdict.any_can ? 1 : 2) * cluster.give_up_after + cluster.detect.patience,
                               tick))
        return false;
      run_.timers.restart(PhaseTimers::Wait::going_back);
      views_.lost(
          {false, verdict.slots.front()}, "coordinator",
          "it has not gone back to " + run_.view.source.checkpoint + " in time (cluster.give_up_after)");
      return true;
    case GoingBack::Act::lose: {
      std::vector<std::uint32_t> without = verdict.slots;
      std::erase_if(without, [&](std::uint32_t slot) {
        return run_.setup.checkpoints && answers_.unread(slot) == Unread::gone &&
               mounts_.may_find(slot, cluster.give_up_after);
      });
      if (without.empty()) return wait_for_mounts(mounts_.by_all(), verdict.slots), true;
      for (const std::uint32_t slot : without) {
        if (run_.end.decided() || !run_.membership->alive({false, slot})) continue;
        views_.lost({false, slot}, "coordinator",
                    answers_.why(slot) + "; others can: does its host see the same checkpoint.folder?",
                    false);
      }
      return true;
    }
    case GoingBack::Act::gone:
      if (checkpoints_.known->is_missed(run_.view.source.checkpoint) && !canary("gone-is-damaged"))
        return wait_for_mounts(true), true;
      [[fallthrough]];
    case GoingBack::Act::older:
      if (verdict.act != GoingBack::Act::gone) mounts_.end();
      // Then the next view waits for it, and they read again.
      goes_further_ =
          !run_.view.source.checkpoint.empty() && checkpoints_.known->hidden_before(run_.view.source.step);
      return goes_further_ ? views_.close_view() : go_back_further(), true;
    case GoingBack::Act::away:
      return fail_without_folder(answers_.refusal()), true;
  }
  return false;
}

// None has read the checkpoint, and none was refused: it is large, or the disk hangs.
bool Rollback::wait_for_readers(bool tick) {
  if (!tick || !run_.is_going_back() || run_.view.source.checkpoint.empty()) return false;
  const auto now = run_.timers.pass(PhaseTimers::Wait::reading), before = now - kCoordinatorTick;
  const std::chrono::milliseconds give_up = run_.setup.job.cluster.give_up_after;
  const std::string none = "no replica has read " + run_.view.source.checkpoint + " within ";
  if (before < give_up && now >= give_up)
    port_.raise(
        make_event("notice", {{"text", none + std::to_string(give_up.count()) +
                                           " ms (cluster.give_up_after): it is large, or the disk does not "
                                           "answer; they are waited for"}}));
  const auto most = std::max<std::chrono::milliseconds>(kReadingGiveUps * give_up, kReadingMin);
  if (now < most) return false;
  ending_.fail(
      none + std::to_string(most.count()) +
      " ms: the disk of checkpoint.folder does not answer; make it readable, and go on with --resume");
  return true;
}

// A run that ends names no checkpoint that is gone, or that those who are left could not read and one has
// found damaged.
void Rollback::keep_no_damaged() {
  const std::string& checkpoint = run_.view.source.checkpoint;
  if (!run_.is_going_back() || checkpoint.empty() || checkpoints_.known->is_passed_over(checkpoint)) return;
  std::vector<std::uint32_t> here = slots_of(run_.view.replicas);
  std::erase_if(here, [this](std::uint32_t slot) { return !run_.membership->alive({false, slot}); });
  if (answers_.judge(slots_of(run_.view.replicas)).any_can) return;
  const bool damaged =
      answers_.judge(here).act == GoingBack::Act::older || (here.empty() && answers_.any_has_read());
  if (damaged || (goes_further_ && checkpoints_.known->is_gone(checkpoint)))
    checkpoints_.known->pass_over(run_.view.source, run_.view.number, run_.view.back);
}

void Rollback::go_back_further() {
  const PartSource& source = run_.view.source;
  const std::string why = answers_.why();
  if (source.checkpoint.empty()) return ending_.fail(why);  // there is nothing before the beginning
  checkpoints_.known->pass_over(source, run_.view.number, run_.view.back);
  if (run_.view.back && !checkpoints_.known->any())
    return ending_.fail(
        "no checkpoint is left to go back to: " + why +
        "; if its host does not see the same checkpoint.folder, mount it, and go on with --resume; "
        "else begin the run again");
  if (run_.view.back) checkpoints_.suspects.suspect_only(source.step + 1);
  port_.raise(make_event(
      "notice",
      {{"text", why + "; the run goes to " +
                    (checkpoints_.known->any() ? checkpoints_.known->last().manifest : "the beginning")}}));
  views_.close_view();
}

void Rollback::make_again_at(const View& view, CoordinatorPort::Time when) {
  run_.phase = CoordinatorPhase::noting;
  run_.pending.make_at(view, when);
}

bool Rollback::waits_for_folder(const View& view, bool parts_lost) {
  const bool goes_back = parts_lost || checkpoints_.suspects.any() || goes_further_ ||
                         !checkpoints_.suspects.can_be_settled_in(view);
  const std::uint64_t before = checkpoints_.suspects.good_before();
  const auto look = [&] {
    return checkpoints_.known->hidden_before(goes_further_ ? run_.view.source.step : before);
  };
  auto hidden = goes_back ? look() : std::nullopt;
  if (goes_back && !hidden) checkpoints_.known->hold(), hidden = look();  // it may have gone meanwhile
  if (!hidden || canary("folder-is-not-waited-for")) return folder_wait_.end(), false;
  checkpoints_.known->look_anew();
  const auto now = port_.now();
  const auto give_up = run_.setup.job.cluster.give_up_after;
  if (folder_wait_.refused(now)) {
    port_.raise(make_event(
        "notice",
        {{"text", "not all of checkpoint.folder (" + run_.setup.checkpoints->folder() + ") can be read (" +
                      *hidden + "), and the run is to go back to a checkpoint: it is waited for, " +
                      std::to_string(give_up.count()) + " ms (cluster.give_up_after)"}}));
  }
  const auto wait = folder_wait_.next(now, give_up);
  const bool over = !wait;
  // Members have told of a good one, and their hosts may see the folder; or only some of it cannot be read.
  const auto last = checkpoints_.known->last_of_run_before(before);
  const bool known = checkpoints_.known->last_is_known() || last;
  if (over && !goes_further_ && known && checkpoints_.known->good_before(before)) return false;
  const bool of_no_use = answers_.any_has_read() || checkpoints_.known->is_gone(run_.view.source.checkpoint);
  if (over && goes_further_ && of_no_use && checkpoints_.known->good_before(run_.view.source.step)) {
    goes_further_ = false;
    return go_back_further(), true;
  }
  if (over) return fail_without_folder(*hidden), true;
  make_again_at(view, now + *wait);
  folder_wait_.back_off();
  return true;
}

// No replica finds the checkpoint of this view, and the coordinator does, or finds none at all: their folder
// is not mounted. Or only these do not.
void Rollback::wait_for_mounts(bool by_all, const std::vector<std::uint32_t>& slots) {
  const auto now = port_.now();
  const auto give_up = run_.setup.job.cluster.give_up_after;
  const std::string none =
      (by_all ? "no replica finds " : "some replicas do not find ") + run_.view.source.checkpoint +
      " in checkpoint.folder (" + run_.setup.checkpoints->folder() + "), to which the run is to go back" +
      (by_all && checkpoints_.known->finds(run_.view.source.checkpoint) ? ", and the coordinator does" : "");
  if (mounts_.missed(by_all, now)) {
    const std::string look =
        by_all ? ": they look again, for " + std::to_string(give_up.count()) + " ms (cluster.give_up_after)"
               : ", and others do: they look once more";
    port_.raise(make_event("notice", {{"text", none + look}}));
  }
  if (!mounts_.look_again(slots, now, give_up))
    return ending_.fail(none + "; mount the folder on every host, and go on with --resume");
  views_.close_view();
}

// A good checkpoint may be there: neither the beginning nor what may be wrong is better.
void Rollback::fail_without_folder(const std::string& why) {
  ending_.fail(
      "checkpoint.folder (" + run_.setup.checkpoints->folder() +
      ") could not be read, or not all of it, within cluster.give_up_after, and the run was to go back to a "
      "checkpoint (" +
      why + "); make it readable, and go on with --resume");
}

}  // namespace muster
