#include "tests/simulation/plan_idle.hpp"

#include "tests/simulation/plan_dice.hpp"

namespace muster::simulation {

void replace_idle_faults(Plan& plan) {
  std::erase_if(plan.faults, [&](const Fault& each) { return each.kind == "freeze-disk" && !plan.disk; });
  // Replicas load nothing where a run without loaders ends.
  const auto& cluster = plan.job.cluster;
  if (cluster.loaders == 0 || cluster.on_loader_loss == OnLoaderLoss::load_here) return;
  Dice dice = dice_of(plan.seed, DiceOf::idle_threads);
  for (Fault& fault : plan.faults) {
    if (fault.a.starts_with("replica") && fault.b == "muster-load")
      fault.b = dice.one_in(2) ? "muster-compute" : "muster-progress";
  }
}

}  // namespace muster::simulation
