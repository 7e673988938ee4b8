// How often a plan's job audits, and wrong bits; from dice of its own.
#include <algorithm>

#include "tests/simulation/plan.hpp"
#include "tests/simulation/plan_dice.hpp"

namespace muster::simulation {

namespace {

using std::chrono::milliseconds;

// Checkpoints before the fault, and two more replicas to tell who is wrong.
void draw_a_way_back(Dice& dice, Plan& plan) {
  plan.job.cluster.replicas = std::max(plan.job.cluster.replicas, std::min(plan.job.train.shards, 4u));
  if (!plan.disk) plan.job.checkpoint = {"disk", {1, Interval::Unit::steps}, 3};
  plan.job.checkpoint.keep = static_cast<std::uint32_t>(dice.between(1, 12));
  plan.disk = true;
}

// What all would go back to cannot be read, by all or by one of them, or not now.
void draw_unreadable(Dice& dice, const Moment& moment, const PlanOptions& options, Plan& plan) {
  auto kinds = faults_of_reading();
  kinds.push_back(fault_kind("disk-away"));
  kinds.push_back(fault_kind("disk-slow"));
  const FaultKind kind = dice.one_of(kinds);
  if (std::find(options.faults.begin(), options.faults.end(), kind.name) == options.faults.end()) return;
  Fault fault;
  fault.kind = kind.name;
  if (!kind.draw(dice, {plan.job, plan.cluster}, fault)) return;
  fault.moment = {"commit", moment.nth + dice.below(4), Nanoseconds(0)};
  plan.faults.push_back(std::move(fault));
}

// Who writes checkpoints is cut off with one that may hold wrong results, and writes it when all others have
// gone back. Three are left to tell who is wrong.
void draw_late_writer(Dice& dice, Fault wrong_bits, const PlanOptions& options, Plan& plan) {
  const std::string writer = NodeName{false, 0}.text();  // the first one
  const std::uint32_t replicas = plan.job.cluster.replicas;
  if (wrong_bits.a == writer) wrong_bits.a = NodeName{false, 1}.text();
  wrong_bits.costs = {wrong_bits.a};
  wrong_bits.strength = kByMuch;
  std::uint64_t commit = replicas + dice.between(1, 2 * replicas);  // each replica's counts, in every step
  wrong_bits.moment = {"commit", commit, Nanoseconds(0)};
  if (!dice.one_in(4)) plan.faults.clear();
  plan.faults.push_back(std::move(wrong_bits));
  plan.job.cluster.on_corruption = OnCorruption::evict;
  plan.job.train.audit.every = 1;
  if (plan.job.train.epochs) plan.job.train.epochs = 4;
  plan.job.checkpoint.every = {1, Interval::Unit::steps};
  plan.job.checkpoint.keep = 12;
  for (const char* kind : {"freeze-disk", "cut-off-long"}) {
    if (std::find(options.faults.begin(), options.faults.end(), kind) == options.faults.end()) return;
    Fault fault;
    fault.kind = kind;
    fault_kind(kind).draw(dice, {plan.job, plan.cluster}, fault);
    fault.a = writer;
    fault.costs = {writer};
    commit += replicas / 2 + dice.below(replicas);
    fault.moment = {"commit", commit, dice.between(Nanoseconds(0), Nanoseconds(milliseconds(5)))};
    plan.faults.push_back(std::move(fault));
  }
  if (!dice.one_in(4)) return;
  plan.job.checkpoint.keep = 1;
  Fault end;
  end.kind = "kill-all";
  fault_kind(end.kind).draw(dice, {plan.job, plan.cluster}, end);
  end.moment = {"commit", commit + dice.between(1, 6 * replicas), Nanoseconds(0)};
  plan.faults.push_back(std::move(end));
}

}  // namespace

void draw_bits(std::uint64_t seed, const PlanOptions& options, Plan& plan) {
  Dice dice = dice_of(seed, DiceOf::bits);
  plan.job.train.audit.every = dice.one_of(std::vector<std::uint64_t>{1, 2, 3, 256});
  if (!dice.one_in(3)) return;
  const FaultKind kind = dice.one_in(2) ? fault_kind("odd-later") : dice.one_of(faults_of_bits());
  if (std::find(options.faults.begin(), options.faults.end(), kind.name) == options.faults.end()) return;
  if (kind.name.starts_with("odd-") && !dice.one_in(6)) draw_a_way_back(dice, plan);
  if (kind.name == "odd-at-times") plan.job.checkpoint.every.count = dice.between(1, 6);
  // What goes back to a checkpoint decides anew which gradients are dropped.
  if (plan.disk && plan.job.cluster.straggler.action == StragglerAction::drop) return;
  Fault fault;
  fault.kind = kind.name;
  if (!kind.draw(dice, {plan.job, plan.cluster}, fault)) return;
  fault.moment = {"commit", dice.between(1, 20), Nanoseconds(0)};
  if (kind.name == "odd")
    fault.moment = {"install", 1, Nanoseconds(0)};  // it has a name, and was not compared
  if (dice.one_in(8)) plan.job.cluster.on_corruption = OnCorruption::stop;
  const bool enough = plan.disk && plan.job.cluster.replicas > 3;
  if (enough && kind.name == "odd-later" && !dice.one_in(3))
    return draw_late_writer(dice, fault, options, plan);
  plan.faults.push_back(fault);
  if (plan.disk && !dice.one_in(4)) draw_unreadable(dice, fault.moment, options, plan);
}

}  // namespace muster::simulation
