// Views that go back to a checkpoint: parts of the state are lost, or results hold wrong bits
// (coordinator_suspects.cpp). Where a checkpoint cannot be read, the one before it is taken.
#include "actors/checkpoint/checkpoint_verdicts.hpp"
#include "actors/coordinator/coordinator.hpp"
#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "actors/messages/clean_steps.hpp"
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

// Owner and buddy of a part are both lost. Where all stand cannot be gone on from; the last checkpoint can.
// Of that a coordinator that was started anew may not have been told.
void CoordinatorState::give_up_lost_parts(const View& view, const PartHolder& lost) {
  checkpoints_->take_newer_before(suspects_.good_before());
  const Checkpointed& kept = checkpoints_->last();
  abandon_after(kept.step, view.number);
  if (term_.taken_over()) return;
  raise(make_event(
      "went_back",
      {{"view", number(view.number)},
       {"step", number(std::max(steps_done(), kept.step))},
       {"to_step", number(kept.step)},
       {"checkpoint", kept.manifest.empty() ? std::string("the beginning") : kept.manifest},
       {"reason", "replica " + std::to_string(lost.owner) + " is lost" +
                      (lost.buddy == lost.owner ? ", and nobody had a second copy of its part"
                                                : ", and so is replica " + std::to_string(lost.buddy) +
                                                      ", which had the second copy of its part")}}));
}

// The most that is known of. A coordinator that was started again knows it by heartbeats first. What the lost
// had done may be given up since.
std::uint64_t CoordinatorState::steps_done() const {
  std::uint64_t most = report_.steps;
  for (const auto& [who, record] : membership_->nodes()) {
    if (membership_->alive(who)) most = std::max(most, record.last.step);
  }
  return most;
}

// What its members do again counts anew, and they tell again of the epochs before it. Who told of them may
// have been wrong, or be gone.
void CoordinatorState::forget_after(const View& view) {
  const std::uint64_t step = view.source.step;
  back_in_ = view.number;
  report_.steps = std::min(report_.steps, step);
  epochs_.go_back(step);
  // Who does the steps behind that again tells of theirs.
  const bool resumed = setup_.resume && setup_.resume->step <= step;
  report_.samples = resumed ? setup_.resume->samples : 0;
  for (const EpochEnd& row : epochs_.counted()) report_.samples = std::max(report_.samples, row.samples);
}

void CoordinatorState::on(const WentBack& message) {
  if (end_.decided() || message.view != view_.number || !membership_->member(message.name)) return;
  going_back_.said(message.name.slot, message.error, message.unread);
  judge_going_back(false);
}

// Its members read the state from a checkpoint, and none has said yet that it has done a step in it.
bool CoordinatorState::is_going_back() const {
  return reads_checkpoint(view_, setup_.job.train.in_parts()) && !took_effect_;
}

// No step of the view can end while one of its members stands where it was.
bool CoordinatorState::judge_going_back(bool tick) {
  if (!in_force() || took_effect_) return false;
  const auto& cluster = setup_.job.cluster;
  const GoingBack::Verdict verdict = going_back_.judge(slots_of(view_.replicas));
  if (verdict.any_can && verdict.act == GoingBack::Act::nothing) mounts_.end();  // all have
  switch (verdict.act) {
    case GoingBack::Act::nothing:
      timers_.restart(PhaseTimers::Wait::going_back);
      return !verdict.any_can && wait_for_readers(tick);
    case GoingBack::Act::wait:
      // Who tries again has its own time, from when its disk refused first; and its last report is under way.
      if (!timers_.is_over(PhaseTimers::Wait::going_back,
                           (verdict.any_can ? 1 : 2) * cluster.give_up_after + cluster.detect.patience, tick))
        return false;
      timers_.restart(PhaseTimers::Wait::going_back);
      lost({false, verdict.slots.front()}, "coordinator",
           "it has not gone back to " + view_.source.checkpoint + " in time (cluster.give_up_after)");
      return true;
    case GoingBack::Act::lose: {
      std::vector<std::uint32_t> without = verdict.slots;
      std::erase_if(without, [&](std::uint32_t slot) {
        return setup_.checkpoints && going_back_.unread(slot) == Unread::gone &&
               mounts_.may_find(slot, cluster.give_up_after);
      });
      if (without.empty()) return wait_for_mounts(mounts_.by_all(), verdict.slots), true;
      for (const std::uint32_t slot : without) {
        if (end_.decided() || !membership_->alive({false, slot})) continue;
        lost({false, slot}, "coordinator",
             going_back_.why(slot) + "; others can: does its host see the same checkpoint.folder?", false);
      }
      return true;
    }
    case GoingBack::Act::gone:
      if (checkpoints_->is_missed(view_.source.checkpoint) && !canary("gone-is-damaged"))
        return wait_for_mounts(true), true;
      [[fallthrough]];
    case GoingBack::Act::older:
      if (verdict.act != GoingBack::Act::gone) mounts_.end();
      // Then the next view waits for it, and they read again.
      goes_further_ = !view_.source.checkpoint.empty() && checkpoints_->hidden_before(view_.source.step);
      return goes_further_ ? close_view() : go_back_further(), true;
    case GoingBack::Act::away:
      return fail_without_folder(going_back_.refusal()), true;
  }
  return false;
}

// None has read the checkpoint, and none was refused: it is large, or the disk hangs.
bool CoordinatorState::wait_for_readers(bool tick) {
  if (!tick || !is_going_back() || view_.source.checkpoint.empty()) return false;
  const auto now = timers_.pass(PhaseTimers::Wait::reading), before = now - kTick;
  const std::chrono::milliseconds give_up = setup_.job.cluster.give_up_after;
  const std::string none = "no replica has read " + view_.source.checkpoint + " within ";
  if (before < give_up && now >= give_up)
    raise(make_event("notice", {{"text", none + std::to_string(give_up.count()) +
                                             " ms (cluster.give_up_after): it is large, or the disk does not "
                                             "answer; they are waited for"}}));
  const auto most = std::max<std::chrono::milliseconds>(kReadingGiveUps * give_up, kReadingMin);
  if (now < most) return false;
  fail(none + std::to_string(most.count()) +
       " ms: the disk of checkpoint.folder does not answer; make it readable, and go on with --resume");
  return true;
}

// A run that ends names no checkpoint that is gone, or that those who are left could not read and one has
// found damaged.
void CoordinatorState::keep_no_damaged() {
  const std::string& checkpoint = view_.source.checkpoint;
  if (!is_going_back() || checkpoint.empty() || checkpoints_->is_passed_over(checkpoint)) return;
  std::vector<std::uint32_t> here = slots_of(view_.replicas);
  std::erase_if(here, [this](std::uint32_t slot) { return !membership_->alive({false, slot}); });
  if (going_back_.judge(slots_of(view_.replicas)).any_can) return;
  const bool damaged =
      going_back_.judge(here).act == GoingBack::Act::older || (here.empty() && going_back_.any_has_read());
  if (damaged || (goes_further_ && checkpoints_->is_gone(checkpoint)))
    checkpoints_->pass_over(view_.source, view_.number, view_.back);
}

void CoordinatorState::go_back_further() {
  const PartSource& source = view_.source;
  const std::string why = going_back_.why();
  if (source.checkpoint.empty()) return fail(why);  // there is nothing before the beginning
  checkpoints_->pass_over(source, view_.number, view_.back);
  if (view_.back && !checkpoints_->any())
    return fail("no checkpoint is left to go back to: " + why +
                "; if its host does not see the same checkpoint.folder, mount it, and go on with --resume; "
                "else begin the run again");
  if (view_.back) suspects_.suspect_only(source.step + 1);
  raise(make_event("notice",
                   {{"text", why + "; the run goes to " +
                                 (checkpoints_->any() ? checkpoints_->last().manifest : "the beginning")}}));
  close_view();
}

}  // namespace muster
