// What a run keeps of its state when it ends before its job, and what replicas keep that find no coordinator.
#include <algorithm>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/registry/job_hash.hpp"
#include "actors/rules/steps/parts.hpp"
#include "tests/simulation/invariants.hpp"

namespace muster::simulation {

// A run that was told to end keeps its state; it may fail to do so where other faults keep it from that.
void Invariants::expect_kept(const Report& report) {
  const auto count = [&](const char* event) {
    const auto found = report.event_counts.find(event);
    return found == report.event_counts.end() ? std::uint64_t{0} : found->second;
  };
  const bool told = report.outcome == "interrupted";
  if (count("state_kept") > 0)
    return tally_.count(told ? "run: keeps its state when it is told to end"
                             : "run: keeps its state when no replica can go on");
  tally_.count("run: is to end and has nothing to keep");
  if (tally_.of("fault: coordinator-second") > 0) return;  // who told the one was not heard by the other
  if (tally_.of("event: view") == 0 || commits_ == 0) return;
  for (const Event& event : report.events) {
    if (event.name != "state_not_kept") continue;
    if (may_keep_nothing(event.text("reason"))) return;
  }
  say({8, "the run was to end, and kept no state: " + report.reason});
}

// The weights before the step that is not finite.
void Invariants::expect_kept_before_it(const Report& report) {
  const bool kept = report.reason.find("; the state is kept in ") != std::string::npos;
  if (kept) kept_file_ = report.reason.substr(report.reason.rfind('/') + 1);
  expect_kept(report);
}

bool Invariants::may_keep_nothing(const std::string& reason) const {
  if (reason == "no step was done") return no_step_was_done_;
  if (reason == "a part of the state was lost with a replica") return a_part_was_lost_;
  if (reason.starts_with("no replica that holds the state")) return none_held_the_state_;
  if (reason.starts_with("no checkpoint is left that can be read"))
    return tally_.of("fault: damaged-checkpoints") + tally_.of("fault: unshared-folder") > 0 ||
           disk_was_away_for_long();
  // Or a coordinator that is gone had decided that all go back, for parts were lost with those it did not
  // hear.
  const bool was_decided = job_.train.in_parts() && !lost_before_restart_.empty();
  if (reason == "the weights may hold wrong results of a replica")
    return bits_lost_ || !tainted_.empty() || must_go_back_ || was_decided;
  if (reason == "the run was told to end for the second time") return tally_.of("fault: told-to-end") > 1;
  // Another fault holds up a member, its link or its disk for longer.
  const bool little_time = job_.checkpoint.grace < std::chrono::seconds(20);
  return reason.rfind("no member wrote a checkpoint within", 0) == 0 && !was_too_early_ &&
         (little_time || writing_may_be_held_up(tally_, job_.train.in_parts()) ||
          (job_.train.in_parts() && all_have_left_alone()));
}

// They were asked to leave, and found no coordinator: each held but a part.
bool Invariants::all_have_left_alone() const {
  const View* view = views_.latest();
  return view && std::ranges::all_of(members_of(view->number), [this](ProcessId member) {
           return gave_up_looking_.contains(member) && asked_to_go_.contains(member);
         });
}

// What it may say of it.
void Invariants::keeps_nothing() {
  no_step_was_done_ = may_have_done_nothing();
  none_held_the_state_ = none_holds_the_state();
  a_part_was_lost_ = a_part_may_be_lost();
  was_too_early_ =
      told_to_end_at_ && now() - *told_to_end_at_ + kCoordinatorTick < Nanoseconds(job_.checkpoint.grace);
}

// The members that are left have done none that counts. Asked when the run says that it keeps nothing: they
// have closed the view, and take no step more.
bool Invariants::may_have_done_nothing() const {
  const View* view = views_.latest();
  if (bits_lost_ || !view) return true;
  std::vector<std::uint64_t> steps;
  for (const ProcessId process : members_of(view->number)) {
    const Seen& member = seen_.at(process);
    const bool counts = cluster_->world().alive(process) && !lost_.contains(member.name.text()) &&
                        !member.replica.is_astray() && !to_go_back_.contains(process);
    if (counts) steps.push_back(member.replica.steps_applied());
  }
  return may_have_done_no_step(steps, views_.goes_back(*view) && view->source.step == 0);
}

// Asked likewise. Who only wants to leave holds it.
bool Invariants::none_holds_the_state() const {
  const View* view = views_.latest();
  if (!view) return true;
  if (newcomers_hold_the_state()) return false;
  return std::ranges::none_of(members_of(view->number), [this](ProcessId member) {
    const std::string who = seen_.at(member).name.text();
    return cluster_->world().alive(member) && !lost_.contains(who) && !left_.contains(who);
  });
}

// Of the view itself, or, before all have dealt the parts anew, of the one that it has them from.
bool Invariants::a_part_may_be_lost() const {
  const View* view = views_.latest();
  if (!view || !job_.train.in_parts()) return !view;
  std::set<std::uint32_t> left;
  for (const auto& [process, who] : seen_) {
    const std::string name = who.name.text();
    if (who.named && !who.name.loader && cluster_->world().alive(process) && !lost_.contains(name) &&
        !left_.contains(name))
      left.insert(who.name.slot);
  }
  PartSource dealt = view->source;
  dealt.holders = holders_in(*view);
  return lost_part(view->source, left) || lost_part(dealt, left);
}

// It has looked for the coordinator for cluster.orphan_after.
void Invariants::keeps_alone(ProcessId process) {
  const Seen& who = seen(process);
  if (asked_to_go_.contains(process) && (odd_ || flips_))  // what it knows of wrong bits goes with it
    lose_bits(), suspects_stay_ = true;
  const auto sleeps = tally_.of("fault: suspend") + tally_.of("fault: leave-all");
  if (asked_to_go_.contains(process) && sleeps == faults_)
    say({8, who.name.text() + " leaves alone, although the coordinator only stood still as it did itself"});
  orphans_.insert(process);
  gave_up_looking_.insert(process);
  const View* view = views_.latest();
  const auto errors = cluster_->errors_of(who.name.text());
  const bool hangs = errors && errors->hangs;  // then it copies nothing
  const bool had_a_fault =
      hangs || !excused_.insert(who.name.text()).second || lost_.contains(who.name.text());
  if (had_a_fault || who.name.loader || !view || views_.goes_back(*view) || !is_member(process)) return;
  tally_.count("orphan: a member of the last view");
  const auto asked = held_when_asked_.find(process);
  const auto held = asked == held_when_asked_.end() ? who.replica.steps_applied() : asked->second;
  if (!who.replica.is_astray()) orphans_held_ = std::max(orphans_held_, held);
}

// Each writes what it holds, where that is whole.
void Invariants::expect_kept_by_orphans(Disk& disk, const Registry& registry) {
  std::uint64_t of_disks = 0;
  for (const char* kind :
       {"disk-full", "disk-refuses", "disk-hangs", "disk-away", "damaged-checkpoints", "unshared-folder"})
    of_disks += tally_.of("fault: " + std::string(kind));
  if (orphans_held_ == 0 || of_disks > 0 || job_.train.in_parts() || odd_ || flips_) return;
  const auto all = list_checkpoints(disk, job_hash(job_, registry.declarations()));
  const std::uint64_t newest = all.empty() ? 0 : all.back().step;
  tally_.count("orphan: its state is kept");
  if (newest < orphans_held_)
    say({8, "replicas that found no coordinator held step " + std::to_string(orphans_held_) +
                ", and the newest checkpoint is of step " + std::to_string(newest)});
}

// What is kept is the last step of all who are left; unless they are on their way back.
void Invariants::expect_keeps_all(const Event& event) {
  const View* view = views_.latest();
  if (bits_lost_ || !view || views_.goes_back(*view)) return;
  for (const ProcessId process : members_of(view->number)) {
    const Seen& member = seen(process);
    const bool counts = cluster_->world().alive(process) && !lost_.contains(member.name.text()) &&
                        !member.replica.is_astray() && !to_go_back_.contains(process);
    if (!counts) continue;
    if (std::cmp_less(event.integer("step"), member.replica.steps_applied()))
      say({8, "the state of step " + std::to_string(event.integer("step")) + " is kept, and " +
                  member.name.text() + " has done " + std::to_string(member.replica.steps_applied())});
  }
}

}  // namespace muster::simulation
