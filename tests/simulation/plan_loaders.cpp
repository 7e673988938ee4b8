#include "tests/simulation/plan_loaders.hpp"

#include <algorithm>

namespace muster::simulation {

void draw_loaders(std::uint64_t seed, Job& job) {
  Dice dice(seed * 0x2545f4914f6cdd1dull + 37);
  if (job.cluster.loaders == 0) return;
  if (dice.one_in(3)) job.cluster.loaders = static_cast<std::uint32_t>(dice.between(2, 4));
  if (dice.one_in(2)) job.cluster.on_loader_loss = OnLoaderLoss::load_here;
  if (dice.one_in(12)) job.cluster.on_loader_loss = OnLoaderLoss::fail;
}

void draw_source(std::uint64_t seed, Job& job) {
  Dice dice(seed * 0x2545f4914f6cdd1dull + 43);
  if (!dice.one_in(5)) return;
  const bool ready = dice.one_in(2) || job.train.steps;  // steps may end an epoch of unknown length
  job.data.source = ready ? "ready" : "generated";
  job.data.shuffle = std::nullopt;
  if (job.train.remainder != Remainder::pad || ready) job.train.remainder = Remainder::keep;
  Option& samples = job.data.options["samples"];
  const auto count = std::get<std::int64_t>(samples);
  if (ready) samples = Option(1 + count / static_cast<std::int64_t>(job.train.batch));
  job.data.skip = 0;
  job.data.take = std::nullopt;
}

void draw_stuck_after(std::uint64_t seed, Plan& plan) {
  Dice dice(seed * 0x2545f4914f6cdd1dull + 41);
  const bool freezes = std::any_of(plan.faults.begin(), plan.faults.end(), [](const Fault& fault) {
    return fault.kind.rfind("freeze-", 0) == 0 || fault.kind == "suspend" || fault.kind == "hang-everywhere";
  });
  if (freezes) plan.job.cluster.straggler.stuck_after = std::chrono::milliseconds(dice.between(3000, 8000));
}

}  // namespace muster::simulation
