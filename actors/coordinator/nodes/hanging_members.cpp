#include "actors/coordinator/nodes/hanging_members.hpp"

#include <algorithm>

#include "actors/events/event.hpp"
#include "actors/rules/membership/given_up.hpp"
#include "actors/rules/membership/standing_still.hpp"
#include "actors/rules/nodes/keeping_time.hpp"
#include "base/canary.hpp"

namespace muster {

// What is waited for of a replica that hangs; empty: nothing, or it cannot be spared. In a round others
// complain of it, too; nobody does behind the last one, and while parts of the state are dealt or gathered.
std::string HangingMembers::owed_by_hanging(const NodeName& who) const {
  if (run_.phase != CoordinatorPhase::running) return {};
  if (who.loader) return "replicas wait for its micro-batches";
  if (all_is_trained(run_.membership->nodes())) return "others are done";
  if (run_.view.last && run_.view.replicas.size() > 1) return "the last checkpoint is owed";
  // While parts are dealt newcomers are given nothing.
  const auto stage =
      run_.took_effect || !run_.setup.job.train.in_parts() ? NodeStage::caught_up : NodeStage::prepared;
  const std::size_t spares = run_.membership->transfers().newcomers(stage);
  const bool can_go = run_.view.replicas.size() + spares > std::max(run_.setup.job.cluster.min_replicas, 1u);
  return can_go ? "others wait for it" : "";
}

// Whether a replica of the view is none of these.
bool HangingMembers::any_works_but(const std::vector<NodeName>& stalled) const {
  return std::ranges::any_of(run_.view.replicas, [&](const Member& each) {
    return run_.membership->member(each.name) && std::ranges::find(stalled, each.name) == stalled.end();
  });
}

// Copying and hashing the state take their time.
std::chrono::milliseconds HangingMembers::patience_with(bool can_spare) const {
  const auto usual = run_.setup.job.cluster.straggler.stuck_after;
  return run_.end.keeps_state() ? time_while_keeping(run_.setup.job, usual, 2, can_spare) : usual;
}

bool HangingMembers::judge_hanging() {
  if (canary("hangs-unseen")) return false;
  const auto hanging =
      hanging_members(run_.membership->nodes(), patience_with(true), run_.setup.job.train.in_parts());
  const bool any_works = any_works_but(hanging);
  for (const NodeName& who : hanging) {
    const auto patience = patience_with(run_.membership->views().can_spare(run_.view, who));
    if (run_.membership->at(who).last.hangs < patience) continue;
    if (ends_for_hanging(who, true)) return true;
    const std::string owed = any_works ? owed_by_hanging(who) : "";
    if (owed.empty()) {
      if (!any_works || !starves_newcomers(who)) continue;
      ask_another_donor(who);  // then this one can go
      return true;
    }
    lose_hanging(who, "coordinator", true,
                 "one of its threads has done nothing for " + std::to_string(patience.count()) + " ms (" +
                     (run_.end.keeps_state() ? "of checkpoint.grace" : "cluster.straggler.stuck_after") +
                     "), and " + owed);
    return true;
  }
  return judge_stalled();
}

// Replicas that cannot be spared, or all of them; those that wait for data, too, unless there are loader
// processes. They are waited for as long as for any other thing. What was before the view was in force, or
// before this coordinator was there, counts for nobody.
bool HangingMembers::judge_stalled() {
  if (run_.end.keeps_state() ||
      (run_.phase != CoordinatorPhase::running && run_.phase != CoordinatorPhase::paused))
    return false;
  const auto& cluster = run_.setup.job.cluster;
  const auto stalled = stalled_replicas(run_.membership->nodes(), cluster.straggler.stuck_after);
  const bool any_works = any_works_but(stalled);
  const auto in_force = port_.now() - in_force_since_;
  const bool paused = run_.phase == CoordinatorPhase::paused;
  if (paused || in_force >= cluster.straggler.stuck_after) {
    for (const NodeName& who : stalled) report_stalled(who, any_works);
  }
  const auto bound = cluster.straggler.stuck_after + cluster.give_up_after;
  if (paused || in_force < bound || canary("standing-has-no-end")) return false;
  const auto for_long = stalled_replicas(run_.membership->nodes(), bound);
  if (for_long.empty() || (!any_works && for_long.size() < stalled.size())) return false;
  if (!any_works) return fail_for_stalled(for_long), true;
  lose_hanging(for_long.front(), "coordinator", true,
               "it has done nothing for " + std::to_string(bound.count()) +
                   " ms (cluster.straggler.stuck_after and cluster.give_up_after)");
  return true;
}

void HangingMembers::fail_for_stalled(const std::vector<NodeName>& stalled) {
  std::string all;
  for (const NodeName& who : stalled)
    all += (all.empty() ? "" : ", ") + run_.membership->nodes().name_at_place(who) + " " +
           what_it_does(run_.membership->at(who), !run_.view.loaders.empty());
  const bool any_checkpoint =
      checkpoints_.known->any() || checkpoints_.known->last_before(CheckpointFacts::kAllSteps).has_value();
  ending_.fail("no replica has done anything for cluster.straggler.stuck_after and cluster.give_up_after: " +
               all + ". " + what_is_left(run_.setup.job, false, any_checkpoint));
}

// Where others were lost at the same micro-batch no view change helps.
bool HangingMembers::ends_for_hanging(const NodeName& who, bool stuck) {
  if (who.loader || run_.end.keeps_state() || run_.phase != CoordinatorPhase::running ||
      canary("hangs-move-on"))
    return false;
  const std::string why =
      hangs_.ends_for(who, run_.membership->at(who).last.work, stuck, run_.setup.job.cluster.replicas);
  if (why.empty()) return false;
  if (!ending_.keep_state("failed", why))
    ending_.fail(why);  // a call that only takes long returns within checkpoint.grace
  return true;
}

// `stuck`: else it is late.
void HangingMembers::lose_hanging(const NodeName& who, const std::string& noticed_by, bool stuck,
                                  const std::string& reason) {
  if (who.loader) return views_.lost(who, noticed_by, reason);
  if (stuck && canary("one-that-hangs-ends-all")) return fail_for_stalled({who});
  if (ends_for_hanging(who, stuck)) return;
  const NodeRecord& record = run_.membership->at(who);
  const Work work = record.last.work;
  hangs_.note(who, work, stuck);
  views_.lost(who, noticed_by,
              stuck && work.may_hang() ? reason + "; it " + what_it_does(record, !run_.view.loaders.empty())
                                       : reason);
}

bool HangingMembers::starves_newcomers(const NodeName& who) {
  if (run_.phase != CoordinatorPhase::running && run_.phase != CoordinatorPhase::paused) return false;
  return !run_.membership->transfers().waiting_for(who).empty() &&
         run_.membership->transfers().pass_over(who);
}

// In the next view; there is none in a pause, and the hanging one may hold what nobody else does.
void HangingMembers::ask_another_donor(const NodeName& hanging) {
  if (run_.phase == CoordinatorPhase::running) return views_.close_view();
  for (const NodeName& newcomer : run_.membership->transfers().waiting_for(hanging))
    run_.membership->transfers().to_begin_again(newcomer);
  views_.feed_newcomers();
}

void HangingMembers::report_stalled(const NodeName& who, bool any_works) {
  if (!hangs_said_.emplace(run_.view.number, who).second) return;
  const auto& cluster = run_.setup.job.cluster;
  const std::string given_up =
      "for cluster.give_up_after (" + std::to_string(cluster.give_up_after.count()) + " ms)";
  port_.raise(make_event(
      "notice",
      {{"text",
        run_.membership->nodes().name_at_place(who) + " " +
            what_it_does(run_.membership->at(who), !run_.view.loaders.empty()) +
            " (cluster.straggler.stuck_after); " +
            (run_.phase == CoordinatorPhase::paused
                 ? "it may hold what no other replica does, and is waited for"
             : any_works ? "it cannot be spared (cluster.min_replicas), and is waited for " + given_up
                         : "no replica works, and if none goes on " + given_up + " the run fails")}}));
}

}  // namespace muster
