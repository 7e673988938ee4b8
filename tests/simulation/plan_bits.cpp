// How often a plan's job audits, and wrong bits; from dice of its own.
#include <algorithm>

#include "tests/simulation/plan.hpp"

namespace muster::simulation {

void draw_bits(std::uint64_t seed, const PlanOptions& options, Plan& plan) {
  Dice dice(seed * 0x2545f4914f6cdd1dull + 61);
  plan.job.train.audit.every = dice.one_of(std::vector<std::uint64_t>{1, 2, 3, 256});
  if (!dice.one_in(4)) return;
  const FaultKind kind = dice.one_of(faults_of_bits());
  if (std::find(options.faults.begin(), options.faults.end(), kind.name) == options.faults.end()) return;
  Fault fault;
  fault.kind = kind.name;
  if (!kind.draw(dice, {plan.job, plan.cluster}, fault)) return;
  fault.moment = {"commit", dice.between(1, 20), Nanoseconds(0)};
  if (kind.name == "odd")
    fault.moment = {"install", 1, Nanoseconds(0)};  // it has a name, and was not compared
  if (dice.one_in(8)) plan.job.cluster.on_corruption = OnCorruption::stop;
  plan.faults.push_back(std::move(fault));
}

}  // namespace muster::simulation
