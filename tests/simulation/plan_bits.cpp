// How often a plan's job audits, and wrong bits; from dice of its own.
#include <algorithm>

#include "tests/simulation/plan.hpp"

namespace muster::simulation {

namespace {

// Checkpoints before the fault, and two more replicas to tell who is wrong.
void draw_a_way_back(Dice& dice, Plan& plan) {
  plan.job.cluster.replicas = std::max(plan.job.cluster.replicas, std::min(plan.job.train.shards, 4u));
  if (!plan.disk) plan.job.checkpoint = {"disk", {1, Interval::Unit::steps}, 3};
  plan.job.checkpoint.keep = static_cast<std::uint32_t>(dice.between(1, 12));
  plan.disk = true;
}

// What all would go back to cannot be read, by all or by one of them.
void draw_unreadable(Dice& dice, const Moment& moment, const PlanOptions& options, Plan& plan) {
  const FaultKind kind = dice.one_of(faults_of_reading());
  if (std::find(options.faults.begin(), options.faults.end(), kind.name) == options.faults.end()) return;
  Fault fault;
  fault.kind = kind.name;
  if (!kind.draw(dice, {plan.job, plan.cluster}, fault)) return;
  fault.moment = {"commit", moment.nth + dice.below(4), Nanoseconds(0)};
  plan.faults.push_back(std::move(fault));
}

}  // namespace

void draw_bits(std::uint64_t seed, const PlanOptions& options, Plan& plan) {
  Dice dice(seed * 0x2545f4914f6cdd1dull + 61);
  plan.job.train.audit.every = dice.one_of(std::vector<std::uint64_t>{1, 2, 3, 256});
  if (!dice.one_in(3)) return;
  const FaultKind kind = dice.one_of(faults_of_bits());
  if (std::find(options.faults.begin(), options.faults.end(), kind.name) == options.faults.end()) return;
  if (kind.name == "odd-later" && !dice.one_in(3)) draw_a_way_back(dice, plan);
  // What goes back to a checkpoint decides anew which gradients are dropped.
  if (plan.disk && plan.job.cluster.straggler.action == StragglerAction::drop) return;
  Fault fault;
  fault.kind = kind.name;
  if (!kind.draw(dice, {plan.job, plan.cluster}, fault)) return;
  fault.moment = {"commit", dice.between(1, 20), Nanoseconds(0)};
  if (kind.name == "odd")
    fault.moment = {"install", 1, Nanoseconds(0)};  // it has a name, and was not compared
  if (dice.one_in(8)) plan.job.cluster.on_corruption = OnCorruption::stop;
  plan.faults.push_back(fault);
  if (plan.disk && !dice.one_in(4)) draw_unreadable(dice, fault.moment, options, plan);
}

}  // namespace muster::simulation
