// What is owed at the end of a run.
#include <algorithm>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/checkpoint/checkpoint_verdicts.hpp"
#include "actors/coordinator/states/waits/gathering.hpp"
#include "actors/registry/job_hash.hpp"
#include "tests/simulation/checkpoint_check.hpp"
#include "tests/simulation/invariants.hpp"
#include "tests/simulation/planted_errors.hpp"

namespace muster::simulation {

namespace {

constexpr const char* kNoneHoldsIt = "no replica that holds the state";
constexpr const char* kNotFinite = "the weights are still those of the step before";

bool says_who_is_missing(const std::string& reason) {
  static constexpr const char* kReasons[] = {"no replica of the last view is left",
                                             "no nodes came",
                                             kNoneHoldsIt,
                                             "no loader process is left",
                                             "no message from any member",
                                             "the nodes were not ready within"};
  return std::ranges::any_of(kReasons, [&](const char* each) { return reason.starts_with(each); });
}

bool reason_is_planted(const Report& report) {
  return report.reason.find(kPlantedError) != std::string::npos;
}

}  // namespace

// The thread that would copy it stands still in every member that lives.
bool Invariants::nobody_can_give_the_state() const {
  const View* view = views_.latest();
  return view && std::ranges::all_of(view->replicas, [this](const Member& member) {
           const std::string who = member.name.text();
           return lost_.contains(who) || left_.contains(who) || cluster_->stands_still(who, "muster-compute");
         });
}

// A donor whose encoding thread hangs is lost after cluster.straggler.stuck_after and cluster.give_up_after;
// a pause ends before that (docs/reference/limitations.md).
bool Invariants::an_encoder_keeps_it(const std::string& reason) const {
  const View* view = views_.latest();
  return view && reason.find("which got no state from a member") != std::string::npos &&
         std::ranges::any_of(view->replicas, [this](const Member& member) {
           return cluster_->stands_still(member.name.text(), "muster-back");
         });
}

// Replicas that were neither lost nor left, and that nothing has befallen; of the first coordinator.
std::uint32_t Invariants::without_excuse() const {
  return static_cast<std::uint32_t>(std::ranges::count_if(joined_, [&](const std::string& who) {
    return who.rfind("replica", 0) == 0 && lost_.count(who) + left_.count(who) == 0 &&
           excused_.count(who) + joined_second_.count(who) == 0;
  }));
}

// No member of the view sees the folder that the others saw.
bool Invariants::all_blind() const {
  const View* view = views_.latest();
  return view && std::ranges::all_of(view->replicas, [this](const Member& member) {
           return cluster_->is_blind(member.name.text());
         });
}

// The coordinator did not see the folder, and remembers a checkpoint in whose place newer ones have come.
bool Invariants::is_pruned_unseen() const {
  const std::shared_ptr<Disk>& disk = cluster_->disk();
  if (!disk || !blind_from_) return false;
  const auto all = list_checkpoints(*disk, job_hash(job_, cluster_->registry().declarations()));
  return std::ranges::none_of(all, [this](const auto& each) { return each.step < *blind_from_; });
}

// Members gave up looking for the coordinator; a fault has befallen the others, or they were to go.
bool Invariants::none_looks_for_it() const {
  const View* view = views_.latest();
  // The first one may be in the journal alone; who was to join again is told so.
  if (!view) return !gave_up_looking_.empty() || !told_to_end_.empty();
  return std::ranges::all_of(members_of(view->number), [this](ProcessId member) {
    const std::string who = seen_.at(member).name.text();
    const bool may_be_gone = excused_.contains(who) || lost_before_restart_.contains(who) ||
                             left_.contains(who) || told_to_end_.contains(member);
    const bool cannot_come = !cluster_->world().alive(member) || stood_still_.contains(member) ||
                             cluster_->cut_from_coordinator(member);
    return gave_up_looking_.contains(member) || (may_be_gone && cannot_come);
  });
}

// To move the journal away would throw it away. An empty folder may be another host's.
void Invariants::expect_no_denial(const std::string& reason) {
  const std::shared_ptr<Disk>& disk = cluster_->disk();
  const bool denies = reason.find("; no checkpoint is here") != std::string::npos;
  const bool sees_another = cluster_->disk_is_away_from_coordinator() &&
                            !cluster_->coordinator_disk_refuses() && !leader_saw_folder_;
  if (!denies || !disk || odd_ || flips_ || sees_another) return;
  if (!list_checkpoints(*disk, job_hash(job_, cluster_->registry().declarations())).empty())
    say({8, "a checkpoint is there, and the run says that none is: " + reason});
}

// No fault but deaths of the coordinator: they cost no node.
bool Invariants::only_the_coordinator_died() const {
  std::uint64_t deaths = 0;
  for (const char* kind : {"crash", "torn", "mid-commit"})
    deaths += tally_.of("fault: coordinator-" + std::string(kind));
  return deaths == faults_;
}

bool Invariants::all_told_to_end() const {
  const View* view = views_.latest();
  return view && std::ranges::all_of(members_of(view->number),
                                     [this](ProcessId member) { return told_to_end_.contains(member); });
}

// A run may fail only if too few nodes are left, if it has not begun, or has ended, or if no view can be
// kept.
void Invariants::expect_good_end(const Report& report) {
  if (report.completed()) {
    tally_.count("run: completed");
    last_named_ = report.checkpoint;
    const bool known = !bits_lost_ || job_.cluster.straggler.action != StragglerAction::drop;
    return known && !over_ ? say(report_rule(report, oracle_, !bits_lost_)) : void();
  }
  if (report.reason.starts_with("a bug in the coordinator")) return say({11, report.reason});
  if (stopped_by_wrong_bits(report)) return;
  if (report.reason.empty()) say({11, "the run " + report.outcome + " without a reason"});
  const std::uint64_t told = tally_.of("fault: told-to-end") + tally_.of("fault: leave-all");
  const bool all_left = report.reason.starts_with("every replica was asked to leave");
  if (all_left && !job_.checkpoint.folder.empty()) expect_left_in_time();
  if (all_left && job_.checkpoint.folder.empty()) return expect_none_stays(report);
  if ((told > 0 || all_left) && report.outcome == "interrupted") return expect_kept(report);
  // A coordinator that hears nobody has no newcomer given the state.
  const bool fed = report.reason.rfind("no nodes came", 0) == 0 && !unheard_;
  const bool can_be_given = !nobody_can_give_the_state() && !an_encoder_keeps_it(report.reason);
  const std::uint32_t waits = fed && can_be_given ? newcomers_wait() : 0;
  const std::uint32_t blind = members_that_cannot_read();
  const bool too_few = members_left("replica") - blind + waits < std::max(job_.cluster.min_replicas, 1u);
  const bool parts_are_there = job_.train.in_parts() && blind > 0;  // with those who cannot read, and alone
  const bool no_loader = job_.cluster.loaders > 0 && members_left("loader") == 0 &&
                         (job_.cluster.on_loader_loss != OnLoaderLoss::load_here || parts_are_there);
  const bool by_a_node =
      reason_is_planted(report) || report.reason.find(" was lost at step ") != std::string::npos;
  if (job_.cluster.on_loss == OnLoss::fail && by_a_node)
    return tally_.count("run: fails by a node, as its job says");
  if (tally_.of("fault: error-everywhere") > 0 && reason_is_planted(report)) return expect_kept(report);
  if (report.reason.starts_with("no nodes came")) expect_were_waited_for(report);
  if (fails_for_hanging(report)) return tally_.count("run: fails where replicas hang");
  if (tally_.of("round: not finite") > 0 && report.reason.find(kNotFinite) != std::string::npos)
    return expect_kept_before_it(report);
  if (fails_by_errors(report)) return tally_.count("run: fails by errors of its last nodes");
  if (report.reason.starts_with("no member of the last view has come back") && none_looks_for_it())
    return tally_.count("run: fails where its coordinator came too late");
  if (report.reason.starts_with(kNoneHoldsIt) && newcomers_hold_the_state())
    return say({11, "newcomers were given the state, and the run says: " + report.reason});
  if (report.reason.starts_with("no node came for ")) return expect_nobody_came(report);
  if (only_the_coordinator_died())
    return say({11, "the run " + report.outcome + ", although only its coordinator died: " + report.reason});
  if (tally_.of("event: view") == 0 && may_fail_before_the_first_view(report.reason)) {
    tally_.count("run: fails before its first view");
  } else if (tally_.of("event: view") == 0 && report.reason.find(" does not reach ") != std::string::npos) {
    tally_.count("run: fails before its first view, where a firewall is");
  } else if (report.reason.rfind("no checkpoint is left to go back to", 0) == 0 &&
             (tally_.of("fault: damaged-checkpoints") > 0 || all_blind() || is_pruned_unseen())) {
    tally_.count("run: fails without a checkpoint that can be read");
  } else if (report.reason.rfind("no replica finds ", 0) == 0 && (disk_was_away_for_long() || all_blind())) {
    tally_.count("run: fails where no replica sees its folder of checkpoints");
  } else if (report.reason.rfind("checkpoint.folder (", 0) == 0 && disk_was_away_for_long()) {
    tally_.count("run: fails without its folder of checkpoints");
  } else if (fails_without_journal(report)) {
    tally_.count("run: fails without its journal");
  } else if (tally_.of("fault: coordinator-second") > 0 && says_who_is_missing(report.reason) &&
             without_excuse() < std::max(job_.cluster.min_replicas, 1u)) {
    tally_.count("run: fails with two coordinators");  // whom the first one has lost is not looked at
  } else if (report.reason.rfind("no message from any member", 0) == 0 && without_excuse() == 0) {
    tally_.count("run: gives up without a message from anybody");
  } else if (tally_.of("fault: coordinator-old-journal") > 0 && all_told_to_end()) {
    tally_.count("run: had ended, of which an older journal knows nothing");
  } else if ((too_few || no_loader) && says_who_is_missing(report.reason)) {
    tally_.count(too_few ? "run: fails below min_replicas" : "run: fails without a loader");
  } else {
    say({11, "the run " + report.outcome + ", although it could have gone on: " + report.reason});
  }
}

// Of two coordinators nobody knows whose pause it was.
void Invariants::expect_were_waited_for(const Report& report) {
  const Nanoseconds waited = now() - paused_at_;
  if (!cluster_->two_coordinators() && waited + kCoordinatorTick < Nanoseconds(job_.cluster.give_up_after))
    say({11, "nodes were waited for for " + std::to_string(waited / std::chrono::milliseconds(1)) +
                 " ms: " + report.reason});
}

// Nodes that are started by hand are waited for; in the place of one that was launched none comes.
bool Invariants::may_fail_before_the_first_view(const std::string& reason) const {
  const bool was_launched = !cluster_->by_hand();
  if (was_launched && reason.ends_with(kPlantedError)) return true;
  if (was_launched && reason.find(" was lost at step 1 ") != std::string::npos)
    return !lost_.empty();  // that it was is judged where it is told
  return !excused_.empty() && says_who_is_missing(reason) && too_few_to_begin();
}

// Its disk was full for as long as it is tried; or before the first entry, which is written once.
bool Invariants::fails_without_journal(const Report& report) const {
  const auto says = [&](const char* text) { return report.reason.find(text) != std::string::npos; };
  if (says("the journal could not be written for")) return journal_was_full_for_long();
  return says("the journal cannot be kept") && tally_.of("event: view") == 0 &&
         tally_.of("fault: journal-full") > 0;
}

// Nobody came for as long as nodes that are started by hand are waited for, and places were free.
void Invariants::expect_nobody_came(const Report& report) {
  tally_.count("run: fails for nodes that did not come");
  const auto patience = Gathering::kPatienceTimes * Nanoseconds(job_.cluster.start_patience);
  const bool to_another = tally_.of("fault: coordinator-second") > 0;  // the last one came to that
  const bool waited = to_another || now() - node_came_at_ + kCoordinatorTick >= patience;
  const bool has_begun = tally_.of("event: view") > 0 && !to_another;
  if (!cluster_->start_is_bounded() || has_begun || !waited)
    say({11, "a run that has not begun gives up waiting for its nodes: " + report.reason});
}

// Whom the first of two coordinators has lost is not told.
void Invariants::expect_none_stays(const Report& report) {
  tally_.count("run: ends without a folder when all leave");
  const auto explained = [this](const std::string& who) {
    return tally_.of("fault: coordinator-second") > 0 && excused_.contains(who);
  };
  const auto stay = std::ranges::count_if(joined_, [&](const std::string& who) {
    return who.starts_with("replica") && !lost_.contains(who) && !left_.contains(who) &&
           !leaving_.contains(who) && !explained(who);
  });
  if (stay > 0 || report.outcome != "interrupted")
    say({11, "the run " + report.outcome + ", although replicas stay: " + report.reason});
}

// A run whose last replica, or last loader, fails; or two of them at the same micro-batch.
bool Invariants::fails_by_errors(const Report& report) const {
  if (!reason_is_planted(report)) return false;
  const auto says = [&](const char* text) { return report.reason.find(text) != std::string::npos; };
  // A newcomer may become a member after the verdict.
  if (says("no other replica is left")) return replicas_at_error_ <= 1;
  if (says("no other loader is left")) return loaders_at_error_ <= 1;
  return failed_at_.two_have_failed(report.reason);
}

// A coordinator that hears nobody ends: a message that comes when the link is good again would throw away
// what its members have done since, and another coordinator can find them. Who was to join holds nothing.
void Invariants::expect_unheard_are_left_alone(ProcessId member, const Stop& stop) {
  const bool leaves = stop.good && leaving_.contains(seen(member).name.text());
  const bool of_the_end =
      ends_ && is_member(member) && !leaves && !stop.again && !stop.keep && stop.suspect_from == 0;
  const bool is_silent = now() - heard_at_[member] > Nanoseconds(job_.cluster.detect.patience);
  if (of_the_end && unheard_ && is_silent && cluster_->by_hand() && cluster_->cut_from_coordinator(member))
    say({8, seen(member).name.text() + " is told of the end by a coordinator that does not hear it"});
}

// Whoever asks all replicas to leave kills them soon; a last view needs no journal.
void Invariants::expect_left_in_time() {
  std::uint64_t known = 0;
  for (const char* kind : {"journal-full", "leave-all", "crash"})
    known += tally_.of("fault: " + std::string(kind));
  const Nanoseconds took = now() - asked_to_leave_at_;
  if (known == faults_ && took > job_.checkpoint.grace + std::chrono::seconds(5))
    say({11, "all replicas were asked to leave, and the run has ended " +
                 std::to_string(took / std::chrono::milliseconds(1)) + " ms after that"});
}

void Invariants::expect_all_ended() {
  for (const std::string& name : cluster_->nodes()) {
    if (cluster_->alive(name)) say({12, name + " has not ended although the run is over"});
  }
}

void Invariants::expect_checkpoints(std::shared_ptr<Disk> disk, const Registry& registry) {
  if (suspects_stay_) return tally_.count("checkpoint: wrong ones cannot be set aside");
  if (bits_lost_ && !told_) return;  // nobody could know; who knows leaves no wrong one
  const CheckpointsChecked checked = check_checkpoints(job_, registry, std::move(disk), oracle_);
  if (checked.looked_at > 0) tally_.count("checkpoint: the oracle's");
  if (checked.of_no_worth > 0) tally_.count("checkpoint: written late, and of no worth by a verdict");
  if (checked.differing > 0 && flips_) tally_.count("checkpoint: of one place, with other weights");
  if (checked.differing > 0 && !flips_ && !odd_)
    say({8, std::to_string(checked.differing) + " steps have checkpoints with different weights"});
  for (const WrongCheckpoint& each : checked.wrong) {
    if (!is_excused(each)) say(each.wrong);
  }
}

// What a run that has completed names at its end can be gone on from, and is not from before all went back.
// It may be in the spare folder.
void Invariants::expect_last_checkpoint(const std::vector<std::shared_ptr<Disk>>& disks,
                                        const Registry& registry) {
  if (last_named_.empty() || suspects_stay_) return;
  const std::string hash = job_hash(job_, registry.declarations());
  const auto holds_it = [&](const std::shared_ptr<Disk>& disk) {
    const auto all = disk ? list_checkpoints(*disk, hash) : std::vector<ListedCheckpoint>{};
    const auto named = std::ranges::find_if(
        all, [&](const auto& each) { return disk->folder() + "/" + each.weights == last_named_; });
    return named != all.end() && std::ranges::none_of(all, [&](const ListedCheckpoint& each) {
             return each.history > named->history && each.step >= named->step;
           });
  };
  if (std::ranges::none_of(disks, holds_it))
    say({8, "the run has completed with " + last_named_ + ", which is not its last good checkpoint"});
}

// Whoever wrote it down late. A spare folder is its host's own: no verdict is in it.
void Invariants::expect_nothing_abandoned(Disk& disk, const Registry& registry) {
  if (suspects_stay_) return;
  for (const ListedCheckpoint& each : list_checkpoints(disk, job_hash(job_, registry.declarations()))) {
    const bool abandoned = std::ranges::any_of(went_back_, [&](const auto& view) {
      return each.history != view.first && goes_before(each.history, view.first) && each.step > view.second;
    });
    if (abandoned) say({8, "the run went back, and " + each.manifest + " of before still counts"});
  }
}

// The last one that was told of is on the disk, whatever happens, and the newest that counts.
std::optional<std::uint64_t> Invariants::newest_durable() const {
  if (newest_at_verdict_) return newest_at_verdict_;
  const bool counts = !told_back_ && !counts_to_ && !suspects_stay_ &&
                      tally_.of("fault: damaged-checkpoints") == 0 && !flips_ && !odd_;
  return counts ? newest_reported() : std::nullopt;
}

// All steps from here on are done again: what was written of them before, or is written late, counts no more.
void Invariants::began_attempt(const View& view) {
  const View* before = views_.latest();
  if (before && before->history == view.history && !views_.goes_back(*before))
    say({8, "view " + std::to_string(view.number) + " goes back, and begins no attempt of its own"});
  const bool can_be_read = tally_.of("fault: unshared-folder") + tally_.of("fault: coordinator-old-journal") +
                               tally_.of("fault: coordinator-second") ==
                           0;
  const auto newest = can_be_read ? newest_durable() : std::nullopt;
  if (!view.back && newest && view.source.step < *newest)
    say({8, "all go back to step " + std::to_string(view.source.step) +
                ", and there is a checkpoint of step " + std::to_string(*newest)});
  counts_to_ = view.source.step;
  back_view_ = view.number;
  // Where a checkpoint cannot be read it goes back further, in the same attempt. A verdict has a step of its
  // own.
  if (!view.back) went_back_.try_emplace(view.history, view.source.step);
}

// A coordinator whose journal is older learns of the view from its members. Else the journal may know of a
// newer one, of which nobody was told.
void Invariants::turned_away(const std::string& who) {
  const View* view = views_.latest();
  const bool older =
      tally_.of("fault: coordinator-old-journal") > 0 && tally_.of("fault: coordinator-mid-commit") == 0;
  if (!older || !view || begun_ != view->number || cluster_->two_coordinators()) return;
  for (const ProcessId process : members_of(view->number)) {
    const Seen& member = seen(process);
    if (member.name.text() == who && member.installed == view->number && cluster_->world().alive(process))
      say({11, who + " was turned away, although it is a member of view " + std::to_string(view->number)});
  }
}

// A coordinator that was started again finds on the disk what members have written meanwhile.
bool Invariants::is_of_this_attempt(std::uint64_t step) const {
  const std::shared_ptr<Disk>& disk = cluster_->disk();
  const View* view = views_.latest();
  if (!disk || !view) return false;
  const auto all = list_checkpoints(*disk, job_hash(job_, cluster_->registry().declarations()));
  return std::ranges::any_of(all, [&](const ListedCheckpoint& each) {
    return each.step == step && of_one_run(each.history, view->history) && each.history >= view->history;
  });
}

// Nobody removes a checkpoint from that one on, and a run that is told to end has kept its state with it.
void Invariants::expect_counts_on_no_abandoned(const Pulse& pulse) {
  const bool knows =
      tally_.of("fault: coordinator-old-journal") + tally_.of("fault: coordinator-second") == 0;
  if (!knows || !counts_to_ || pulse.kept_step <= *counts_to_ || is_of_this_attempt(pulse.kept_step)) return;
  say({8, "the coordinator counts on the checkpoint of step " + std::to_string(pulse.kept_step) +
              ", which is from before all went back to step " + std::to_string(*counts_to_)});
}

// A newcomer that was given the state in a view before is given it in this one, and not only when somebody
// stays: or nobody who is to leave can ever go.
// A coordinator that is cut off may have lost one without a message to it.
void Invariants::expect_newcomers_fed() {
  const auto of_coordinator = [](const auto& counted) {
    return counted.first.starts_with("fault: coordinator-");
  };
  if (std::ranges::any_of(tally_.counts(), of_coordinator)) return;
  for (const auto& [process, who] : seen_) {
    const bool waits = who.named && who.fed_in > 0 && who.fed_in < begun_ && cluster_->world().alive(process);
    if (waits && !is_member(process) && !leaving_.contains(who.name.text()))
      say({11, who.name.text() + " waits for the state in view " + std::to_string(begun_) +
                   ", and nobody is told to give it"});
  }
}

void Invariants::expect_nothing_left(const std::string& left) {
  if (!left.empty()) say({10, "left over at the end: " + left});
}

}  // namespace muster::simulation
