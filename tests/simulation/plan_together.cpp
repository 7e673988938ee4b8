#include "tests/simulation/plan_together.hpp"

#include <algorithm>

#include "tests/simulation/plan_dice.hpp"

namespace muster::simulation {

namespace {

using std::chrono::milliseconds;

// Who names so few asks for what they do together.
constexpr std::size_t kFewFaults = 4;

class Together {
 public:
  Together(Dice& dice, const PlanOptions& options, const Plan& plan)
      : dice_(dice), options_(options), plan_(plan) {
    plan_.faults.clear();
  }

  bool may(const std::string& kind) const {
    return std::ranges::find(options_.faults, kind) != options_.faults.end();
  }
  Job& job() { return plan_.job; }
  const Plan& plan() const { return plan_; }

  /// With the means that its kind draws; on `a` and `b` where they are named.
  void add(const std::string& kind, Moment moment, const std::string& a = "", const std::string& b = "") {
    Fault fault;
    fault.kind = kind;
    fault.moment = std::move(moment);
    possible_ = possible_ && may(kind) && fault_kind(kind).draw(dice_, {plan_.job, plan_.cluster}, fault);
    if (!a.empty()) fault.a = a;
    if (!b.empty()) fault.b = b;
    if (!a.empty()) fault.costs = {a};
    if (!a.empty() && !b.empty() && kind.ends_with("-two")) fault.costs = {a, b};
    plan_.faults.push_back(std::move(fault));
  }

  /// The one that was added last.
  void last_for(Nanoseconds time) { plan_.faults.back().lasts = time; }

  bool possible() const { return possible_; }

 private:
  Dice& dice_;
  const PlanOptions& options_;
  Plan plan_;
  bool possible_ = true;
};

std::string slot_name(std::uint32_t slot) {
  return NodeName{false, slot}.text();
}

void keep_all(Job& job) {
  job.checkpoint = {"disk", {1, Interval::Unit::steps}, 12};
}

void compare_results(Dice& dice, Job& job) {
  job.cluster.replicas = std::max(job.cluster.replicas, 3u);
  job.cluster.on_corruption = OnCorruption::evict;
  job.train.audit.every = dice.between(1, 3);
  keep_all(job);
  if (job.train.epochs) job.train.epochs = std::max<std::uint64_t>(*job.train.epochs, 4);
}

// Nothing is on a disk: whoever leaves last gives the state to those who came.
void all_leave_while_others_come(Dice& dice, Together& together) {
  Job& job = together.job();
  job.cluster.replicas = std::min<std::uint32_t>({job.cluster.replicas, job.train.shards, 2});
  job.checkpoint.folder.clear();
  if (job.train.epochs) job.train.epochs = std::max<std::uint64_t>(*job.train.epochs, 20);
  std::uint64_t commit = dice.between(1, 6);
  together.add("join", {"commit", commit, Nanoseconds(0)});
  commit += job.cluster.replicas * dice.between(1, 8);
  const auto later = dice.between(Nanoseconds(0), Nanoseconds(milliseconds(40)));
  for (std::uint32_t slot = 0; slot < job.cluster.replicas; ++slot)
    together.add("leave", {"commit", commit, later}, slot_name(slot));
}

// Nobody lets them go, and who asked them to leave kills them soon.
void all_leave_while_the_coordinator_stands(Dice& dice, Together& together) {
  Job& job = together.job();
  keep_all(job);
  job.checkpoint.grace = milliseconds(dice.between(300, 5000));
  if (job.train.epochs) job.train.epochs = std::max<std::uint64_t>(*job.train.epochs, 12);
  const std::uint64_t commit = job.cluster.replicas * dice.between(1, 6);
  together.add("coordinator-stands", {"commit", commit, Nanoseconds(0)});
  together.add("leave-all", {"commit", commit, dice.between(Nanoseconds(0), Nanoseconds(milliseconds(200)))});
}

// Parts are lost with those who hold them, and all go back; who was to write a later checkpoint writes it
// when all others have done its steps again.
void parts_are_lost_with_a_late_writer(Dice& dice, Together& together) {
  Job& job = together.job();
  job.cluster.replicas = std::max(job.cluster.replicas, 4u);
  keep_all(job);
  if (job.train.epochs) job.train.epochs = std::max<std::uint64_t>(*job.train.epochs, 4);
  std::uint64_t commit = job.cluster.replicas * dice.between(1, 4);
  together.add("freeze-disk", {"commit", commit, Nanoseconds(0)}, slot_name(0));
  commit += dice.between(1, 2 * job.cluster.replicas);
  together.add("cut-off-long", {"commit", commit, Nanoseconds(0)}, slot_name(0));
  together.add("crash-two", {"commit", commit, dice.between(Nanoseconds(0), Nanoseconds(milliseconds(5)))},
               slot_name(1), slot_name(2));
}

// All are to go back before wrong results; meanwhile the folder cannot be reached, and who coordinates may be
// one that was started anew.
void wrong_results_while_the_folder_is_away(Dice& dice, Together& together) {
  compare_results(dice, together.job());
  const std::uint32_t members = together.job().cluster.replicas;
  const std::uint64_t commit = members * dice.between(1, 5);
  const auto soon = [&dice] { return dice.between(Nanoseconds(0), Nanoseconds(milliseconds(20))); };
  together.add("odd-later", {"commit", commit, Nanoseconds(0)},
               slot_name(static_cast<std::uint32_t>(dice.below(members))));
  const bool restarts =
      together.plan().cluster.by_hand && together.may("coordinator-crash") && !dice.one_in(3);
  if (restarts)
    together.add("coordinator-crash", {"commit", dice.between(commit, commit + 2 * members), soon()});
  if (restarts && dice.one_in(2))
    together.add("disk-away", {"restarted", 1, soon()});
  else if (dice.one_in(2))
    together.add("disk-away", {"close", dice.between(1, members), Nanoseconds(0)});  // for the verdict
  else
    together.add("disk-away", {"commit", commit + dice.below(2 * members), soon()});
}

// All are to go back before wrong results, and only the journal knows.
void the_coordinator_dies_when_all_go_back(Dice& dice, Together& together) {
  Job& job = together.job();
  compare_results(dice, job);
  const auto odd = slot_name(static_cast<std::uint32_t>(dice.below(job.cluster.replicas)));
  together.add("odd-later", {"commit", job.cluster.replicas * dice.between(2, 5), Nanoseconds(0)}, odd);
  together.add("coordinator-mid-commit", {"closed", dice.between(1, job.cluster.replicas), Nanoseconds(0)});
  if (dice.one_in(2))
    together.add("told-to-end",
                 {"restarted", 1, dice.between(Nanoseconds(0), Nanoseconds(milliseconds(400)))});
}

// Parts are lost with those who hold them, and all are to read from a folder that cannot be reached.
void parts_are_lost_while_the_folder_is_away(Dice& dice, Together& together) {
  Job& job = together.job();
  job.cluster.replicas = std::max(job.cluster.replicas, 4u);
  keep_all(job);
  if (job.train.epochs) job.train.epochs = std::max<std::uint64_t>(*job.train.epochs, 4);
  const std::uint64_t commit = job.cluster.replicas * dice.between(2, 5);
  together.add("crash-two", {"commit", commit, dice.between(Nanoseconds(0), Nanoseconds(milliseconds(5)))},
               slot_name(1), slot_name(2));
  if (dice.one_in(2))
    together.add("disk-away", {"commit", commit, Nanoseconds(0)});
  else
    together.add("disk-away",
                 {dice.one_in(2) ? "close" : "install", dice.between(1, job.cluster.replicas + 2),
                  dice.between(Nanoseconds(0), Nanoseconds(milliseconds(5)))});
}

// Keeps a checkpoint of each step. After which commit it happens.
std::uint64_t can_spare_one(Dice& dice, Job& job) {
  job.cluster.replicas = std::max(job.cluster.replicas, 2u);
  job.cluster.min_replicas = 1;
  keep_all(job);
  return job.cluster.replicas * dice.between(2, 6);
}

// The others keep the state.
void one_hangs_when_the_run_is_to_end(Dice& dice, Together& together) {
  const std::uint64_t commit = can_spare_one(dice, together.job());
  const Nanoseconds later = dice.between(Nanoseconds(0), Nanoseconds(milliseconds(500)));
  together.add("freeze-for-good", {"commit", commit, Nanoseconds(0)});
  together.add("told-to-end", {"commit", commit, later});
}

// A message of the end waits in the connections until the link is good again.
void the_coordinator_is_to_end_while_it_hears_nobody(Dice& dice, Together& together) {
  Job& job = together.job();
  keep_all(job);
  job.checkpoint.grace = milliseconds(dice.between(200, 4000));
  job.cluster.give_up_after = std::max(job.cluster.give_up_after, milliseconds(30000));
  if (job.train.epochs) job.train.epochs = std::max<std::uint64_t>(*job.train.epochs, 20);
  const std::uint64_t commit = job.cluster.replicas * dice.between(1, 6);
  const Nanoseconds patience = job.cluster.detect.patience;
  together.add("coordinator-cut-off", {"commit", commit, Nanoseconds(0)});
  together.add("told-to-end", {"commit", commit, patience + dice.between(Nanoseconds(0), 2 * patience)});
}

// A view waits for its journal, and nobody is to be in it.
void all_leave_while_a_view_waits_for_its_journal(Dice& dice, Together& together) {
  Job& job = together.job();
  const std::uint64_t commit = can_spare_one(dice, job);
  const auto soon = [&dice](int most) {
    return dice.between(Nanoseconds(0), Nanoseconds(milliseconds(most)));
  };
  job.checkpoint.grace = milliseconds(dice.between(300, 4000));
  together.add("journal-full", {"commit", commit, Nanoseconds(0)});
  together.last_for(dice.between(Nanoseconds(milliseconds(5000)), Nanoseconds(milliseconds(30000))));
  together.add("crash", {"commit", commit, soon(5)});
  together.add("leave-all", {"close", dice.between(1, job.cluster.replicas), soon(200)});
}

// The machine sleeps for longer than they may take to go.
void all_sleep_when_they_are_to_end(Dice& dice, Together& together) {
  Job& job = together.job();
  const std::uint64_t commit = can_spare_one(dice, job);
  job.checkpoint.grace = milliseconds(dice.between(1000, 4000));
  together.add("leave-all", {"commit", commit, Nanoseconds(0)});
  together.add("suspend", {dice.one_in(2) ? "close" : "closed", 1,
                           dice.between(Nanoseconds(0), Nanoseconds(milliseconds(3)))});
  together.last_for(dice.between(Nanoseconds(milliseconds(5000)), Nanoseconds(milliseconds(90000))));
}

// One that came a moment ago has the state, and is no member yet.
void the_members_die_behind_a_newcomer(Dice& dice, Together& together) {
  Job& job = together.job();
  job.cluster.replicas = std::min<std::uint32_t>({job.cluster.replicas, job.train.shards, 2});
  job.cluster.min_replicas = static_cast<std::uint32_t>(dice.between(1, 2));
  if (job.train.epochs) job.train.epochs = std::max<std::uint64_t>(*job.train.epochs, 20);
  together.add("join", {"commit", dice.between(1, 6), Nanoseconds(0)});
  const auto later = dice.between(Nanoseconds(0), Nanoseconds(milliseconds(3)));
  const bool in_the_end = dice.one_in(2);  // when it closes the view with them
  for (std::uint32_t slot = 0; slot < job.cluster.replicas; ++slot)
    together.add("crash", {in_the_end ? "close" : "caught-up", 1, later}, slot_name(slot));
}

using Scenario = void (*)(Dice&, Together&);

std::vector<Scenario> scenarios_of(const Plan& plan) {
  const bool many_shards = plan.job.train.shards >= 4;
  std::vector<Scenario> all{all_leave_while_others_come, the_members_die_behind_a_newcomer};
  if (many_shards) all.push_back(one_hangs_when_the_run_is_to_end);
  if (many_shards) all.push_back(all_sleep_when_they_are_to_end);
  if (many_shards) all.push_back(all_leave_while_a_view_waits_for_its_journal);
  if (many_shards) all.push_back(wrong_results_while_the_folder_is_away);
  if (plan.cluster.by_hand) all.push_back(the_coordinator_is_to_end_while_it_hears_nobody);
  if (plan.cluster.by_hand) all.push_back(all_leave_while_the_coordinator_stands);
  if (plan.cluster.by_hand && many_shards) all.push_back(the_coordinator_dies_when_all_go_back);
  if (!plan.job.train.shard_optimizer || !many_shards) return all;
  all.push_back(parts_are_lost_with_a_late_writer);
  all.push_back(parts_are_lost_while_the_folder_is_away);
  return all;
}

}  // namespace

void draw_together(std::uint64_t seed, const PlanOptions& options, Plan& plan) {
  Dice dice = dice_of(seed, DiceOf::together);
  // What goes back to a checkpoint decides anew which gradients are dropped.
  const bool few = options.faults.size() <= kFewFaults;
  if (!dice.one_in(few ? 2 : 8) || plan.job.cluster.straggler.action == StragglerAction::drop) return;
  std::vector<Scenario> scenarios = scenarios_of(plan);
  while (!scenarios.empty()) {
    const auto chosen = scenarios.begin() + static_cast<std::ptrdiff_t>(dice.below(scenarios.size()));
    Together together(dice, options, plan);
    (*chosen)(dice, together);
    scenarios.erase(chosen);
    if (!together.possible()) continue;  // with the faults that may be
    plan = together.plan();
    plan.job.cluster.min_replicas = std::min(plan.job.cluster.min_replicas, plan.job.cluster.replicas);
    plan.disk = !plan.job.checkpoint.folder.empty();
    return;
  }
}

}  // namespace muster::simulation
