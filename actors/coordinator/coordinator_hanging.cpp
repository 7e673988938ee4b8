// Members that live, and whose threads do nothing: lost where others wait for them, named where they cannot
// be spared, and the end of the run where nobody works any more.
#include <algorithm>

#include "actors/coordinator/coordinator.hpp"
#include "actors/events/event.hpp"
#include "actors/rules/membership/given_up.hpp"
#include "base/canary.hpp"

namespace muster {

// Who hangs while the state is kept is lost in time for the others to keep it. Not before it is known who it
// is; and not where parts of the state may go with it.
std::chrono::milliseconds CoordinatorState::in_time(std::chrono::milliseconds usual, int share) const {
  const Job& job = setup_.job;
  if (job.train.in_parts() || canary("keeping-waits-as-usual")) return usual;
  return std::min(usual, std::max(job.checkpoint.grace / share, 3 * job.cluster.detect.patience));
}

// What is waited for of a replica that hangs; empty: nothing, or it cannot be spared. In a round others
// complain of it, too; nobody does behind the last one, and while parts of the state are dealt or gathered.
std::string CoordinatorState::owed_by_hanging(const NodeName& who) const {
  if (phase_ != CoordinatorPhase::running) return {};
  if (who.loader) return "replicas wait for its micro-batches";
  if (all_is_trained(membership_->nodes())) return "others are done";
  if (view_.last && view_.replicas.size() > 1) return "the last checkpoint is owed";
  // While parts are dealt newcomers are given nothing.
  const auto stage =
      took_effect_ || !setup_.job.train.in_parts() ? NodeStage::caught_up : NodeStage::prepared;
  const std::size_t spares = membership_->transfers().newcomers(stage);
  const bool can_go = view_.replicas.size() + spares > std::max(setup_.job.cluster.min_replicas, 1u);
  return can_go ? "others wait for it" : "";
}

// Whether a replica of the view is none of these.
bool CoordinatorState::any_works_but(const std::vector<NodeName>& stalled) const {
  return std::ranges::any_of(view_.replicas, [&](const Member& each) {
    return membership_->member(each.name) && std::ranges::find(stalled, each.name) == stalled.end();
  });
}

bool CoordinatorState::judge_hanging() {
  if (canary("hangs-unseen")) return false;
  std::chrono::milliseconds patience = setup_.job.cluster.straggler.stuck_after;
  if (end_.keeps_state()) patience = in_time(patience, 2);  // copying and hashing the state take their time
  const auto hanging = hanging_members(membership_->nodes(), patience, setup_.job.train.in_parts());
  const bool any_works = any_works_but(hanging);
  for (const NodeName& who : hanging) {
    if (ends_for_hanging(who, true)) return true;
    const std::string owed = any_works ? owed_by_hanging(who) : "";
    if (owed.empty()) {
      if (!any_works || !starves_newcomers(who)) continue;
      ask_another_donor(who);  // then this one can go
      return true;
    }
    lose_hanging(who, "coordinator", true,
                 "one of its threads has done nothing for " + std::to_string(patience.count()) + " ms (" +
                     (end_.keeps_state() ? "of checkpoint.grace" : "cluster.straggler.stuck_after") +
                     "), and " + owed);
    return true;
  }
  return judge_stalled();
}

// Replicas that cannot be spared, or all of them; those that wait for data, too, unless there are loader
// processes. They are waited for as long as for any other thing. What was before the view was in force, or
// before this coordinator was there, counts for nobody.
bool CoordinatorState::judge_stalled() {
  if (end_.keeps_state() || (phase_ != CoordinatorPhase::running && phase_ != CoordinatorPhase::paused))
    return false;
  const auto& cluster = setup_.job.cluster;
  const auto stalled = stalled_replicas(membership_->nodes(), cluster.straggler.stuck_after);
  const bool any_works = any_works_but(stalled);
  const auto in_force = self_->clock().now() - in_force_since_;
  const bool paused = phase_ == CoordinatorPhase::paused;
  if (paused || in_force >= cluster.straggler.stuck_after) {
    for (const NodeName& who : stalled) report_stalled(who, any_works);
  }
  const auto bound = cluster.straggler.stuck_after + cluster.give_up_after;
  if (paused || in_force < bound || canary("standing-has-no-end")) return false;
  const auto for_long = stalled_replicas(membership_->nodes(), bound);
  if (for_long.empty() || (!any_works && for_long.size() < stalled.size())) return false;
  if (!any_works) return fail_for_stalled(for_long), true;
  lose_hanging(for_long.front(), "coordinator", true,
               "it has done nothing for " + std::to_string(bound.count()) +
                   " ms (cluster.straggler.stuck_after and cluster.give_up_after)");
  return true;
}

// Of one that stands still: what it does for longest. A loader that serves it is not why.
std::string CoordinatorState::what_it_does(const NodeName& who) const {
  const NodeRecord& record = membership_->at(who);
  const bool is_served = record.last.work.waits_for_data() && !view_.loaders.empty();
  const bool plane_hangs = record.last.hangs > record.last.work.stands_for();
  if (record.last.work.may_hang() && !is_served && !plane_hangs) return record.last.work.text();
  return "has done nothing in the thread of its data plane for " + std::to_string(record.last.hangs.count()) +
         " ms";
}

void CoordinatorState::fail_for_stalled(const std::vector<NodeName>& stalled) {
  std::string all;
  for (const NodeName& who : stalled) all += (all.empty() ? "" : ", ") + who.text() + " " + what_it_does(who);
  const bool any_checkpoint = checkpoints_->any() || checkpoints_->last_before(kAllSteps).has_value();
  fail("no replica has done anything for cluster.straggler.stuck_after and cluster.give_up_after: " + all +
       ". " + what_is_left(setup_.job, false, any_checkpoint));
}

// Where others were lost at the same micro-batch no view change helps.
bool CoordinatorState::ends_for_hanging(const NodeName& who, bool stuck) {
  if (who.loader || end_.keeps_state() || phase_ != CoordinatorPhase::running || canary("hangs-move-on"))
    return false;
  const std::string why =
      hangs_.ends_for(who, membership_->at(who).last.work, stuck, setup_.job.cluster.replicas);
  if (why.empty()) return false;
  if (!keep_state("failed", why)) fail(why);  // a call that only takes long returns within checkpoint.grace
  return true;
}

// `stuck`: else it is late.
void CoordinatorState::lose_hanging(const NodeName& who, const std::string& noticed_by, bool stuck,
                                    const std::string& reason) {
  if (who.loader) return lost(who, noticed_by, reason);
  if (ends_for_hanging(who, stuck)) return;
  const Work work = membership_->at(who).last.work;
  hangs_.note(who, work, stuck);
  lost(who, noticed_by, stuck && work.may_hang() ? reason + "; it " + what_it_does(who) : reason);
}

bool CoordinatorState::starves_newcomers(const NodeName& who) {
  if (phase_ != CoordinatorPhase::running && phase_ != CoordinatorPhase::paused) return false;
  return !membership_->transfers().waiting_for(who).empty() && membership_->transfers().pass_over(who);
}

// In the next view; there is none in a pause, and the hanging one may hold what nobody else does.
void CoordinatorState::ask_another_donor(const NodeName& hanging) {
  if (phase_ == CoordinatorPhase::running) return close_view();
  for (const NodeName& newcomer : membership_->transfers().waiting_for(hanging))
    membership_->transfers().to_begin_again(newcomer);
  feed_newcomers();
}

void CoordinatorState::report_stalled(const NodeName& who, bool any_works) {
  if (!hangs_said_.emplace(view_.number, who).second) return;
  const auto& cluster = setup_.job.cluster;
  const std::string given_up =
      "for cluster.give_up_after (" + std::to_string(cluster.give_up_after.count()) + " ms)";
  raise(make_event(
      "notice",
      {{"text",
        who.text() + " " + what_it_does(who) + " (cluster.straggler.stuck_after); " +
            (phase_ == CoordinatorPhase::paused ? "it may hold what no other replica does, and is waited for"
             : any_works ? "it cannot be spared (cluster.min_replicas), and is waited for " + given_up
                         : "no replica works, and if none goes on " + given_up + " the run fails")}}));
}

}  // namespace muster
