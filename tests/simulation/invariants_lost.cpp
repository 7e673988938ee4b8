// Who is lost, and for what: nobody without a fault that explains it.
#include "actors/coordinator/facts/coordinator_texts.hpp"
#include "actors/rules/watch/return_time.hpp"
#include "tests/simulation/invariants.hpp"
#include "tests/simulation/planted_errors.hpp"

namespace muster::simulation {

namespace {

// How a child has ended is waited for longer than that (actors/coordinator/nodes/departures.cpp).
constexpr std::chrono::milliseconds kKnownSoon{800};

// "the link between A and B is broken".
std::optional<std::pair<std::string, std::string>> ends_of_link(const std::string& reason) {
  const std::string link = "the link between ";
  if (!reason.starts_with(link)) return std::nullopt;
  const std::string ends = reason.substr(link.size(), reason.find(" is broken") - link.size());
  const std::size_t and_at = ends.find(" and ");
  return std::pair(ends.substr(0, and_at), ends.substr(and_at + 5));
}

}  // namespace

std::string node_of(const Event& event) {
  const bool replica = event.has("replica");
  return NodeName{!replica, static_cast<std::uint32_t>(event.integer(replica ? "replica" : "loader"))}.text();
}

// The coordinator's own link is cut to these; judged only of members, and where they are in a view.
void Invariants::cut_from_coordinator(const std::set<std::string>& who) {
  const auto nodes = cluster_->nodes();
  const auto there = std::ranges::count_if(nodes, [this](const auto& each) { return cluster_->alive(each); });
  if (views_.latest()) majority_.cut(who, static_cast<std::size_t>(there), now());
}

// It has no data, or an error has befallen it when it opened them; and no loader is left.
bool Invariants::may_not_read(const std::string& who) const {
  const auto errors = cluster_->errors_of(who);
  return (cluster_->without_data(who) || (errors && errors->thrown)) && members_left("loader") == 0;
}

void Invariants::fault_begun(const Fault& fault) {
  ++faults_;
  touched_.insert({fault.a, fault.b});
  touched_.insert(fault.costs.begin(), fault.costs.end());
  const bool freezes = fault.kind.starts_with("freeze-") && fault.kind != "freeze-short";
  if (freezes || fault.kind == "disk-hangs") frozen_.insert(fault.costs.begin(), fault.costs.end());
}

// Others decide who is late.
bool Invariants::may_have_made_late(const std::string& who) const {
  return touched_.contains(who) || touched_.contains(Cluster::kCoordinator);
}

// It is enough for a broken link that one of its ends goes.
void Invariants::expect_one_end(const std::string& reason) {
  const auto ends = ends_of_link(reason);
  if (ends && !links_lost_.insert({ends->first, ends->second}).second)
    say({11, "both ends of one link were lost: " + reason});
}

// Of a broken link either end may go, also the one that has no fault.
bool Invariants::excused(const std::string& who, const std::string& reason) {
  if (excused_.count(who) > 0) return true;
  if (faults_ > 0 && tally_.of("fault: suspend") == faults_) return false;  // nobody had a fault of its own
  // A newcomer whose connection breaks goes by itself, and comes again.
  if (joined_.count(who) == 0 && !cluster_->alive(who)) return true;
  // It was told to end, or is the other one's, or was so until a moment ago.
  if (reason.rfind("it has not come back", 0) == 0 &&
      (!cluster_->alive(who) || tally_.of("fault: coordinator-second") > 0))
    return true;
  if (reason.starts_with(kCannotRead)) return may_not_read(who);
  if (tally_.of("fault: error-everywhere") > 0 && reason.find(kPlantedError) != std::string::npos)
    return true;
  // Another one may find it stuck before a coordinator that was started anew hears of its error.
  const bool stuck = reason.find("has done nothing for cluster.straggler.stuck_after") != std::string::npos;
  const auto errors = cluster_->errors_of(who);
  if (errors && errors->hangs) return true;
  if (stuck && tally_.of("event: restarted") > 0 && errors && errors->thrown) return true;
  if (reason.rfind("corrupt: ", 0) == 0 && odd_one_was_alone(who)) return true;
  if (reason.ends_with("cluster.straggler.action is \"evict\"")) return may_have_made_late(who);
  // It was damaged behind those who had read it already.
  if ((reason.starts_with("it cannot go back to ") || reason.starts_with("it has not gone back to ")) &&
      (tally_.of("fault: damaged-checkpoints") > 0 || disk_was_away_for_long()))
    return true;
  // Before the first view others may take their places.
  if (reason == "silent for cluster.give_up_after" && tally_.of("fault: coordinator-gives-up") > 0)
    return true;
  const auto ends = ends_of_link(reason);
  if (!ends) return false;
  // Members had cut their links to one that was lost; a coordinator that was started anew may not know of it.
  const auto explains = [&](const std::string& end) {
    return excused_.contains(end) || lost_before_restart_.contains(end);
  };
  if (!explains(ends->first) && !explains(ends->second)) return false;
  tally_.count("lost: the end of a link that had no fault");
  return true;
}

bool Invariants::newcomers_hold_the_state() const {
  return std::ranges::any_of(given_the_state_, [this](ProcessId process) {
    const std::string who = seen_.at(process).name.text();
    const bool goes = lost_.contains(who) || left_.contains(who) || leaving_.contains(who) ||
                      told_to_end_.contains(process) || excused_.contains(who);
    return !goes && cluster_->world().alive(process);
  });
}

// Once all members that are left have closed the view, the next one is made, and newcomers that miss more
// steps than those keep are not in it. Nobody is told of it where these die at that moment
// (docs/reference/errors.md).
void Invariants::forget_who_misses_too_much() {
  const View* view = views_.latest();
  std::optional<std::uint64_t> kept_from;
  for (const Member& member : view ? view->replicas : std::vector<Member>{}) {
    const std::string who = member.name.text();
    if (lost_.contains(who)) continue;
    if (!kept_from_.contains(who)) return;
    kept_from = std::min(kept_from_.at(who), kept_from.value_or(kept_from_.at(who)));
  }
  if (!kept_from) return;
  std::erase_if(given_the_state_,
                [&](ProcessId each) { return seen_.at(each).replica.least() + 1 < *kept_from; });
}

void Invariants::lost(const Event& event) {
  const std::string who = node_of(event);
  progress_at_ = now();
  expect_one_end(event.text("reason"));
  const bool given = event.text("reason").rfind("corrupt", 0) == 0 && may_have_wrong_bits(who);
  if (lost_.insert(who).second && !given && !excused(who, event.text("reason"))) {
    say({11, who + " was evicted although it had no fault: " + event.text("reason") + ", noticed by " +
                 event.text("noticed_by")});
  }
  const std::string by = event.text("noticed_by");
  const std::string reason = event.text("reason");
  // One that woke just before has not reached the coordinator yet.
  for (const auto& [process, seen] : seen_) {
    if (seen.name.text() == who && cluster_->world().stood_still(process, restarted_at_, now() - kReturnMax))
      stood_still_.insert(process);
  }
  if (reason.rfind("silent", 0) == 0) {
    tally_.count("lost: by silence");
    // One that was launched ends by itself when its connection has.
    if (faults_ == 1 && cluster_->alive(who)) say(majority_.lost(who, job_.cluster.detect.patience, now()));
  } else {
    majority_.forget();
  }
  if (by == "launcher") tally_.count("lost: told by the launcher");
  if (reason.find("connection is closed") != std::string::npos) {
    tally_.count("lost: its control link ended");
    if (cluster_->was_reaped_within(who, kKnownSoon))
      say({12, who + " was lost because its connection is closed, and how it has ended was known"});
  }
  if (by.rfind("replica", 0) == 0 || by.rfind("loader", 0) == 0) tally_.count("lost: a member complained");
  if (cluster_->alive(who)) tally_.count("lost: one that lives");
  if (cluster_->alive(who) && event.has("loader")) tally_.count("lost: a loader that lives");
  if (closing_ > 0) tally_.count("lost: while a view is being closed");
  if (closing_ == 0 && !in_force_)
    tally_.count(views_.latest() ? "lost: while a view is being installed" : "lost: before the first view");
}

}  // namespace muster::simulation
