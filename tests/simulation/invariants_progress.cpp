// What is owed while a run goes on: steps in time, and an end where replicas hang.
#include <algorithm>

#include "actors/coordinator/states/waits/gathering.hpp"
#include "actors/rules/watch/return_time.hpp"
#include "tests/simulation/invariants.hpp"

namespace muster::simulation {

namespace {

// A disk may be slow, and is given much time while all go back.
constexpr std::chrono::minutes kReadingTakes{10};

}  // namespace

void Invariants::expect_progress(Nanoseconds patience) {
  if (paused_ || unheard_) patience += job_.cluster.give_up_after;
  if (tally_.of("fault: disk-hangs") > 0)
    patience += 2 * job_.cluster.give_up_after;  // for the last checkpoint
  if (adopting_) patience += job_.cluster.orphan_after;
  if (!in_force_)
    patience += std::max<Nanoseconds>(20 * job_.cluster.detect.patience, job_.cluster.start_patience);
  if (tally_.of("fault: freeze-for-good") + tally_.of("fault: hang-everywhere") +
          tally_.of("fault: disk-hangs") >
      0) {
    patience += 2 * job_.cluster.give_up_after;  // it may be going back, where nobody can yet
    patience += job_.cluster.give_up_after + job_.cluster.straggler.stuck_after;  // or cannot be spared
    const View* view = views_.latest();
    const bool has_begun = tally_.of("event: view") > 0;  // the first view reads nothing
    const bool from_disk =
        view && has_begun && (view->back || (job_.train.in_parts() && view->source.view == 0));
    if (from_disk) patience += std::max<Nanoseconds>(5 * job_.cluster.give_up_after, kReadingTakes);
  }
  const bool gathers = cluster_->start_is_bounded() && tally_.of("event: view") == 0;
  const bool must_end = gathers && too_few_to_begin();
  if (gathers) patience += Gathering::kPatienceTimes * Nanoseconds(job_.cluster.start_patience);
  const Nanoseconds since = gathers ? std::max(progress_at_, node_came_at_) : progress_at_;
  if (now() - since <= patience) return;
  if (!must_end && !in_force_ && faults_ > 0 && waits_to_begin()) {
    tally_.count("run: waits for nodes that are started by hand");
    over_ = true;
    return;
  }
  say({11, "nothing has happened for " + std::to_string(patience / std::chrono::seconds(1)) +
               " s of virtual time; " + std::to_string(commits_) + " of " +
               std::to_string(oracle_.records.size()) + " records are committed"});
}

// Whoever asked a node to leave kills it soon: without a word from the coordinator it ends by itself.
void Invariants::expect_leavers_gone() {
  const auto grace = Nanoseconds(job_.checkpoint.grace);
  const auto unheard = std::min<Nanoseconds>(job_.cluster.detect.patience + kReturnMax, grace / 2);
  for (auto& [process, since] : asked_to_go_) {
    since = std::max(since, cluster_->world().resumed_at(process));
    if (cluster_->world().paused(process) || !cluster_->world().alive(process)) since = now();
    if (now() - since > unheard + grace + std::chrono::seconds(2))
      say({11, seen(process).name.text() +
                   " was asked to leave, hears nothing from the coordinator, and has not "
                   "ended within cluster.detect.patience and checkpoint.grace"});
  }
}

// All members of the last view that are left.
bool Invariants::all_stand_still() const {
  const View* view = views_.latest();
  return view && std::ranges::all_of(members_of(view->number), [this](ProcessId member) {
           const std::string who = seen_.at(member).name.text();
           const auto errors = cluster_->errors_of(who);
           return !cluster_->world().alive(member) || lost_.contains(who) || left_.contains(who) ||
                  frozen_.contains(who) || (errors && errors->hangs);
         });
}

// Two have hung at one micro-batch, or nobody works.
bool Invariants::fails_for_hanging(const Report& report) const {
  const std::string& reason = report.reason;
  const bool everywhere = tally_.of("fault: hang-everywhere") > 0;
  const std::string two = "two replicas have hung at ", evicted = " replicas were evicted at ";
  if (reason.starts_with(two)) {
    const auto who = computes_at_.find(reason.substr(two.size(), reason.find(',') - two.size()));
    return who != computes_at_.end() && who->second.size() > 1 && (everywhere || frozen_.size() > 1);
  }
  if (reason.find(evicted) != std::string::npos)
    return lost_.size() >= std::stoul(reason) && (everywhere || frozen_.size() > 1);
  if (everywhere && reason.starts_with("no nodes came")) return true;  // none becomes ready
  const Nanoseconds long_enough = job_.cluster.straggler.stuck_after + job_.cluster.give_up_after;
  if (reason.starts_with("no replica has done anything for"))
    return all_stand_still() && now() - worked_at_ >= long_enough;
  return reason.starts_with("no replica has read ") && all_stand_still();  // it hangs while all go back
}

// The first view waits for nodes that somebody has to start, or for one that hangs while it prepares and
// whose place nobody takes; or each of two coordinators has some of the nodes, until one of them is ended.
bool Invariants::waits_to_begin() const {
  const auto froze = [this](const char* kind) { return tally_.of(std::string("fault: freeze-") + kind) > 0; };
  const bool may_hang = froze("for-good") || froze("replica") || froze("loader") || froze("disk");
  const bool shared_out = cluster_->two_coordinators();
  const bool refused = tally_.of("fault: join-unlike") > 0;  // others may have been, for one that came first
  if (tally_.of("fault: hang-everywhere") > 0 && tally_.of("event: view") == 0)
    return true;  // in the gradient with which each shows that it is ready
  return too_few_to_begin() || ((may_hang || shared_out || refused) && !views_.latest());
}

bool Invariants::too_few_to_begin() const {
  if (tally_.of("event: view") > 0) return false;
  std::map<bool, std::uint32_t> here;
  bool all_read = true;
  for (const auto& [process, who] : seen_) {
    if (!who.named || !cluster_->world().alive(process)) continue;
    ++here[who.name.loader];
    all_read = all_read && !cluster_->without_data(who.name.text());
  }
  const bool load_here = job_.cluster.on_loader_loss == OnLoaderLoss::load_here && all_read;
  const bool loads = job_.cluster.loaders == 0 || load_here;
  return here[false] < std::max(job_.cluster.min_replicas, 1u) || (!loads && here[true] == 0);
}

}  // namespace muster::simulation
