// What must become of wrong bits: no step is committed together with a replica whose weights are not those of
// the others; and who computes other gradients is found within a stated number of steps. Where nobody can
// find it out, for want of a second replica, the oracle's bits are lost, and are not asked for any more.
#include <algorithm>
#include <ranges>
#include <utility>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/registry/job_hash.hpp"
#include "actors/rules/steps/audit.hpp"
#include "tests/simulation/checkpoint_check.hpp"
#include "tests/simulation/invariants.hpp"

namespace muster::simulation {

namespace {

// In the turn of a replica its shards may have come to their end; and a view change begins a turn anew.
constexpr std::uint64_t kWindowsMax = 4;

}  // namespace

void Invariants::flipped(ProcessId process) {
  flips_ = true;
  flipped_.insert(process);
  flipped_at_[seen(process).replica.steps_applied()].insert(process);
  if (alone(process)) lose_bits();
  tally_.count("bits: flipped");
}

void Invariants::computes_odd(ProcessId process, bool at_times) {
  odd_ = process;
  odd_at_times_ = at_times;
  if (commits_ == 0) return;
  std::uint64_t held = 0;  // by anybody: from before
  for (const auto& [each, who] : seen_) {
    if (cluster_->world().alive(each)) held = std::max(held, who.replica.least());
  }
  lose_bits();
  lost_at_ = held;
  tally_.count("bits: others are computed from some step on");
}

void Invariants::applied(ProcessId process, std::uint64_t step, std::span<const float> state) {
  if (!cluster_->world().alive(process) || goes_back_yet(process, step, state)) return;
  const Wrong wrong = seen(process).replica.applied(step, state);
  if (flips_ && !bits_lost_ && !is_member(process)) {
    if (wrong.invariant != 2) say(process, wrong);
    return taint_newcomer(process, step, state);
  }
  if (wrong.invariant == 2 && taint(process)) {
    flipped_at_[step].insert(process);
    return;
  }
  say(process, wrong);
}

// Of a step that is done again after going back: a bit that flipped meanwhile in a gradient may be in it, and
// audits see neither all gradients nor compressed ones.
bool Invariants::differs_by_wrong_bits(std::uint32_t view, std::uint32_t before) {
  if (view == before || (!flips_ && !odd_)) return false;
  tally_.count("bits: another record after going back");
  lose_bits();
  return true;
}

void Invariants::lose_bits() {
  bits_lost_ = lost_since_verdict_ = true;
  told_ = false;
  lost_at_ = 0;
  for (auto& [process, who] : seen_) who.replica.strays();
}

// The run said that it goes back before what may be wrong. Then all has the oracle's bits again.
void Invariants::found_again(const View& view) {
  if (std::exchange(must_go_back_, false) && !view.back)
    say({8, "view " + std::to_string(view.number) + " goes on from steps that may be wrong"});
  // There is nothing better to go back to, and it goes on with what it has, as it said.
  if (!view.back || view.source.step >= accepted_from_) told_ = false;
  if (views_.goes_back(view) && view.source.step < accepted_from_) accepted_from_ = ~std::uint64_t{0};
  if (view.back) tally_.count("bits: back to a checkpoint");
  if (!views_.goes_back(view)) return;
  if (once_lost_at_ && view.records > *once_lost_at_) {  // it may be from before all went back
    lose_bits();
    lost_at_ = *once_lost_at_;
    return to_go_back_.clear();
  }
  for (auto& [process, step] : to_go_back_) step = std::min(step, view.source.step);
  const bool odd_stays =
      odd_ && std::ranges::find(view.replicas, seen(*odd_).name, &Member::name) != view.replicas.end();
  if (!bits_lost_ || view.records > lost_at_) return;
  if (odd_stays && (odd_at_times_ || !view.back)) {
    lost_at_ = view.records;  // it may compute each step from here on wrongly
    return;
  }
  bits_lost_ = false;
  if (!view.back) once_lost_at_ = std::min(lost_at_, once_lost_at_.value_or(lost_at_));
  for (const auto& [process, who] : seen_) to_go_back_[process] = view.source.step;
  tally_.count("bits: right again after going back");
}

// A replica holds the wrong state until it has read the checkpoint. A newcomer may apply what it was given
// before until it becomes a member, be it told to begin again or not.
bool Invariants::goes_back_yet(ProcessId process, std::uint64_t step, std::span<const float> state) {
  const auto found = to_go_back_.find(process);
  if (found == to_go_back_.end()) return false;
  if (!is_member(process)) return !is_right(step, state).value_or(false);
  if (step != found->second) return true;
  to_go_back_.erase(found);
  return false;
}

// An older copy of a journal knows nothing of a verdict; the one who told of it may be lost.
void Invariants::restarted() {
  adopting_ = true;
  given_the_state_.clear();
  links_lost_.clear();
  paused_ = false;
  back_.clear();
  for (auto& [process, who] : seen_) who.fed_in = 0;  // newcomers join anew
  lost_before_restart_ = lost_;
  restarted_at_ = now();
  told_leader_at_.clear();
  leader_was_restarted_ = true;
  leader_saw_folder_ = leader_sees_folder();
  const std::uint64_t older = tally_.of("fault: coordinator-old-journal");
  if (std::exchange(older_journals_, older) < older) must_go_back_ = told_ = false;
}

// Of a disk that takes no verdict: who writes late is not known to be wrong.
void Invariants::suspects_noted(const std::string& text) {
  const auto says = [&](const char* words) { return text.find(words) != std::string::npos; };
  if (says("cannot be renamed") || says("but not marked")) expect_disk_refuses(text);
  if (says("are marked now")) suspects_stay_ = false;
  const std::string before = "for no checkpoint before step ";
  if (!says("the run goes on with what it has") || !says(before.c_str())) return;
  if (is_pruned_unseen()) must_go_back_ = false;
  expect_nothing_to_go_back_to(std::stoull(text.substr(text.find(before) + before.size())));
}

void Invariants::expect_disk_refuses(const std::string& text) {
  std::uint64_t of_disks = 0;
  for (const char* kind : {"disk-full", "disk-refuses", "disk-slow", "disk-away"})
    of_disks += tally_.of("fault: " + std::string(kind));
  if (of_disks == 0) say({8, "no fault befell the disk, and the run says: " + text});
  suspects_stay_ = true;
}

void Invariants::told_of(ProcessId coordinator, const Checkpointed& entry) {
  const bool leads = !cluster_->usurped(coordinator);
  if (leads) leader_saw_folder_ = leader_saw_folder_ || leader_sees_folder();
  if (!entry.folder.empty()) return;
  told_at_.try_emplace(entry.step, now());
  if (leads && entry.view >= back_view_) told_leader_at_.try_emplace(entry.step, now());
}

bool Invariants::leader_sees_folder() const {
  const std::shared_ptr<Disk>& disk = cluster_->disk();
  return disk && !cluster_->disk_is_away_from_coordinator() &&
         holds_any_checkpoint(*disk, job_hash(job_, cluster_->registry().declarations()));
}

std::optional<std::uint64_t> Invariants::newest_reported() const {
  for (const auto& [step, when] : told_at_ | std::views::reverse) {
    if (when < now()) return step;
  }
  return std::nullopt;
}

// It sees it, or waits for the folder where it has seen that one is there, or where its disk refuses and it
// expects one; or was told of this one, and not of so many newer ones that it is to be removed.
bool Invariants::leader_knows_of(std::uint64_t step) const {
  const auto before = [this](const auto& told) { return told.second < now(); };
  const auto found = told_leader_at_.find(step);
  const auto is_newer = [&](const auto& told) { return told.first > step && before(told); };
  const std::uint32_t least = job_.train.in_parts() ? 2 : 1;
  const bool stays =
      std::cmp_less(std::ranges::count_if(told_leader_at_, is_newer), std::max(job_.checkpoint.keep, least));
  const bool expects_one = leader_was_restarted_ || std::ranges::any_of(told_leader_at_, before);
  return leader_saw_folder_ || leader_sees_folder() ||
         (expects_one && cluster_->coordinator_disk_refuses()) ||
         (stays && found != told_leader_at_.end() && before(*found));
}

// A checkpoint that no verdict is about is there; a coordinator had been told of one by then.
void Invariants::expect_nothing_to_go_back_to(std::uint64_t before) {
  accepted_from_ = std::min(accepted_from_, before);
  const bool some_cannot_read =
      tally_.of("fault: damaged-checkpoints") + tally_.of("fault: unshared-folder") > 0;
  const std::shared_ptr<Disk>& disk = cluster_->disk();
  if (!disk || !newest_reported() || some_cannot_read || cluster_->two_coordinators() ||
      disk_was_away_for_long())
    return;
  const std::string hash = job_hash(job_, cluster_->registry().declarations());
  for (const ListedCheckpoint& each : list_checkpoints(*disk, hash)) {
    if (leader_knows_of(each.step) &&
        each.step < (suspects_stay_ ? std::min(before, least_suspect_) : before))
      say({8, "the run goes on with results that may be wrong, although " + each.manifest + " is there"});
  }
}

// Who is told that all go back may be killed the next moment, and be gone on from what is on the disk.
void Invariants::expect_marked(const Event& event) {
  const std::shared_ptr<Disk>& disk = cluster_->disk();
  if (!disk || suspects_stay_) return;
  const std::string hash = job_hash(job_, cluster_->registry().declarations());
  for (const ListedCheckpoint& each : list_checkpoints(*disk, hash)) {
    if (std::cmp_greater_equal(each.step, event.integer("from_step")))
      say({8, "it is told that all go back, and " + each.manifest + " is not marked as wrong"});
  }
}

void Invariants::corrupt(const Event& event) {
  const auto from = static_cast<std::uint64_t>(event.integer("from_step"));
  least_suspect_ = std::min(least_suspect_, from);
  if (cluster_->disk_is_away_from_coordinator())
    blind_from_ = std::min(from, blind_from_.value_or(from));
  else
    blind_from_.reset();
  if (event.text("advice").find("; the run goes back to ") != std::string::npos) {
    must_go_back_ = told_back_ = true;
    if (!flips_) lost_since_verdict_ = false;  // a bit may have flipped before, unseen
    expect_marked(event);
  }
  // Then it goes on with what it has, as it says; or it ends before a view in which it could.
  const bool accepts = event.text("advice").find("no checkpoint before them is there") != std::string::npos;
  if (accepts) expect_nothing_to_go_back_to(from);
  const std::string action = event.text("action");
  const bool some_are_wrong = std::cmp_less_equal(from, event.integer("step"));
  // Who is wrong at times may have been wrong in a step between two that were compared.
  told_ = !odd_at_times_ &&
          (told_ || (action == "evicted" && !accepts) || (action == "the run fails" && some_are_wrong));
  tally_.count("corrupt: " + event.text("what") + ", " + event.text("action"));
}

// Whether the rule is not to say so: its weights may be wrong, and it must be found.
bool Invariants::taint(ProcessId process) {
  if (bits_lost_) return true;
  if (!flips_ && !odd_) return false;
  Seen& who = seen(process);
  if (odd_ && !flips_ && !alone(*odd_)) return false;
  if (odd_ && !flips_) lose_bits();
  tainted_.emplace(process, who.replica.least());
  who.replica.strays();
  tally_.count("bits: a replica has other weights");
  if (all_tainted()) lose_bits();
  return true;
}

// Itself, and those whose state it may have, at second hand, too. Of what a donor gave a coordinator may have
// heard nothing that died.
std::set<std::string> Invariants::givers_of(const std::string& who) const {
  std::set<std::string> all;
  std::vector<std::string> next{who};
  while (!next.empty()) {
    const std::string one = next.back();
    next.pop_back();
    if (!all.insert(one).second || !fed_by_.contains(one)) continue;
    next.insert(next.end(), fed_by_.at(one).begin(), fed_by_.at(one).end());
  }
  return all;
}

// Its own memory's, or those of one that gave it the state, or in this view its last records.
bool Invariants::may_have_wrong_bits(const std::string& who) {
  const View* view = views_.latest();
  const auto is_behind = [&](const Behind& one) { return NodeName{false, one.slot}.text() == who; };
  std::set<std::string> sources = givers_of(who);
  if (view && std::ranges::any_of(view->behind, is_behind))
    sources.insert(NodeName{false, view->donor}.text());
  const auto is_source = [&](ProcessId process) { return sources.contains(seen(process).name.text()); };
  return std::ranges::any_of(sources, [&](const auto& one) { return given_wrong_.contains(one); }) ||
         std::ranges::any_of(flipped_, is_source) ||
         std::ranges::any_of(tainted_, [&](const auto& each) { return is_source(each.first); });
}

// The state, or records of the view before.
void Invariants::gave(const std::string& donor, const std::string& to) {
  if (may_have_wrong_bits(donor)) given_wrong_.insert(to);
}

// A record that one member alone held, in which a bit flipped that its hash does not cover: all have it
// alike. Or the others were lost before their weights were compared.
bool Invariants::all_tainted() const {
  const View* view = views_.latest();
  const std::vector<ProcessId> members = view ? members_of(view->number) : std::vector<ProcessId>{};
  return !members.empty() && std::ranges::all_of(members, [this](ProcessId each) {
    return tainted_.contains(each) || flipped_.contains(each);  // an optimizer's, perhaps
  });
}

bool Invariants::is_member(ProcessId process) const {
  const View* view = views_.latest();
  const std::vector<ProcessId> members = view ? members_of(view->number) : std::vector<ProcessId>{};
  return std::find(members.begin(), members.end(), process) != members.end();
}

// What it was given may be wrong, and be given anew by another one.
void Invariants::taint_newcomer(ProcessId process, std::uint64_t step, std::span<const float> state) {
  if (is_right(step, state).value_or(true))
    tainted_.erase(process);
  else
    tainted_.emplace(process, 0);
}

// Whether it is the oracle's; none: the oracle does not do this step.
std::optional<bool> Invariants::is_right(std::uint64_t step, std::span<const float> state) const {
  const auto found =
      std::find_if(oracle_.records.begin(), oracle_.records.end(),
                   [&](const OracleRecord& each) { return each.is_step && each.step == step; });
  if (found == oracle_.records.end()) return std::nullopt;
  return found->state == fingerprint_of(state);
}

bool Invariants::alone(ProcessId process) {
  const View* view = views_.latest();
  return view && view->replicas.size() == 1 && view->replicas.front().name == seen(process).name;
}

// Newcomers that differ from the only one who was there before go: nobody can tell that it is that one who
// has wrong bits.
bool Invariants::odd_one_was_alone(const std::string& evicted) const {
  const View* view = views_.latest();
  if ((!odd_ && !flips_ && !bits_lost_) || !view) return false;
  const auto is_new = [](const Member& member) { return member.clean == kCleanUntilView; };
  const auto old =
      view->replicas.size() - static_cast<std::size_t>(std::ranges::count_if(view->replicas, is_new));
  return old == 1 && std::ranges::any_of(view->replicas, [&](const Member& member) {
           return is_new(member) && member.name.text() == evicted;
         });
}

std::vector<ProcessId> Invariants::members_of(std::uint32_t view) const {
  std::vector<ProcessId> members;
  const auto found = views_.views().find(view);
  if (found == views_.views().end()) return members;
  for (const auto& [process, who] : seen_) {
    const auto& replicas = found->second.replicas;
    const bool member = std::any_of(replicas.begin(), replicas.end(), [&, &who = who](const Member& m) {
      return m.name == who.name && m.incarnation == who.incarnation;
    });
    if (member && !who.name.loader) members.push_back(process);
  }
  return members;
}

// Whether this record is none that the other rules look at.
bool Invariants::record_of_wrong_bits(ProcessId process, std::uint32_t view, const RoundRecord& record) {
  if (odd_ && bits_lost_) expect_odd_found(view, record);
  if (odd_ == process && members_of(view).size() == 1) lose_bits();
  if (!bits_lost_ && !tainted_.empty()) expect_no_record_with_tainted(process, view);
  if (!bits_lost_ && !tainted_.contains(process)) return false;
  progress_at_ = now();
  return true;
}

void Invariants::expect_no_record_with_tainted(ProcessId process, std::uint32_t view) {
  if (views_.latest() && view < views_.latest()->number) return;  // of nodes that are lost: it counts nowhere
  const std::vector<ProcessId> members = members_of(view);
  const auto is_tainted = [this](ProcessId each) { return tainted_.contains(each); };
  if (std::none_of(members.begin(), members.end(), is_tainted)) return;
  if (std::all_of(members.begin(), members.end(), is_tainted)) return lose_bits();
  if (is_tainted(process)) return;  // the others say so
  const std::uint64_t index = seen(process).replica.next(view, views_.from(view));
  for (const ProcessId each : members) {
    if (is_tainted(each) && index >= tainted_.at(each))
      say(process, {2, "it has taken record " + std::to_string(index) + " together with " +
                           seen(each).name.text() + ", which has other weights"});
  }
}

// Counts only what it has told of to all: one member's record stands for the step.
void Invariants::expect_odd_found(std::uint32_t view, const RoundRecord& record) {
  if (odd_at_times_) return;
  const std::vector<ProcessId> members = members_of(view);
  const bool may = std::find(members.begin(), members.end(), *odd_) != members.end() && members.size() > 1;
  const bool all_present = std::all_of(record.shards.begin(), record.shards.end(),
                                       [](const ShardReport& entry) { return entry.present(); });
  if (!may || record.kind != RoundKind::train || !all_present) return;
  odd_steps_.insert(record.step);
  const std::uint64_t window = audit_window(job_.train.audit.every, members.size());
  if (odd_steps_.size() > kWindowsMax * window)
    say(*odd_, {2, "it computes other gradients than the others for " + std::to_string(odd_steps_.size()) +
                       " steps, and was not found"});
}

// Where two differ, or all of them are new, nobody can tell who is right; nor of a backup task.
bool Invariants::stopped_by_wrong_bits(const Report& report) {
  const bool of_a_backup = report.reason.find("by its backup worker, differ") != std::string::npos;
  if ((report.reason.rfind("diverged: ", 0) != 0 && !of_a_backup) || (!flips_ && !odd_)) return false;
  // All count an epoch from the same records, wrong ones too.
  if (report.reason.find("the ledger or evaluation of epoch") != std::string::npos) return false;
  if (!of_a_backup && !may_stop_for_wrong_bits(job_.cluster.on_corruption, minds())) return false;
  tally_.count("run: stops where nobody knows whose bits are right");
  return true;
}

// Members that are left, and have their state from none of the others.
std::size_t Invariants::minds() const {
  const View* view = views_.latest();
  if (!view) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(view->replicas, [&](const Member& member) {
    const std::string who = member.name.text();
    const bool is_behind =
        std::ranges::any_of(view->behind, [&](const Behind& one) { return one.slot == member.name.slot; });
    return cluster_->alive(who) && !lost_.contains(who) && !is_behind && givers_of(who).size() == 1;
  }));
}

// The replica of a job for one leaves its sums on its GPU, and forms no mean that could be hashed.
bool Invariants::is_alone_on_gpu(std::uint32_t view) const {
  return cluster_->has_gpus() && job_.cluster.replicas == 1 && members_of(view).size() == 1;
}

bool Invariants::is_excused(const WrongCheckpoint& checkpoint) {
  // In the part of a sharded optimizer, which its owner alone holds, and not in the weights, by rounding.
  if (flips_ && job_.train.in_parts() && checkpoint.only_optimizer) {
    tally_.count("bits: flipped in an optimizer, unseen");
    return true;
  }
  if (once_lost_at_) {  // from before the steps that all have gone back before: nobody knew that it was wrong
    tally_.count("checkpoint: wrong, and left by chance");
    return true;
  }
  // Of one that is lost, and has found no coordinator: it went on with all shards, and the others without
  // some.
  const auto branched_off = [&](ProcessId one) {
    return orphans_.contains(one) && seen(one).replica.steps_applied() == checkpoint.step;
  };
  if (!checked_.contains(checkpoint.step) && std::ranges::any_of(branched_off_, branched_off)) {
    tally_.count("checkpoint: of one that was lost, where the others have dropped late gradients");
    return true;
  }
  // A replica whose coordinator is gone keeps what it holds, and has nobody to compare it with. Of a bit in
  // the last result the weights may show nothing, by rounding.
  const auto kept_by_one_of_step = [&](std::uint64_t step) {
    const auto at = flipped_at_.find(step);
    return at != flipped_at_.end() &&
           std::ranges::any_of(at->second, [&](ProcessId one) { return orphans_.contains(one); });
  };
  const bool compared = checked_.contains(checkpoint.step) && !checkpoint.differs;
  const bool alone = !compared && (kept_by_one_of_step(checkpoint.step) ||
                                   (checkpoint.only_optimizer && kept_by_one_of_step(checkpoint.step - 1)));
  if (alone) tally_.count("checkpoint: kept alone, with a bit that flipped in its last step");
  return alone;
}

}  // namespace muster::simulation
