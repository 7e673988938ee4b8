#include "tests/simulation/plan_start.hpp"

#include "tests/simulation/plan_dice.hpp"

namespace muster::simulation {

using std::chrono::milliseconds;

void draw_start(std::uint64_t seed, Plan& plan) {
  plan.cluster.start_is_bounded = plan.cluster.by_hand;
  plan.cluster.reaps = !plan.cluster.by_hand;
  Dice dice = dice_of(seed, DiceOf::start);
  if (!plan.cluster.by_hand || !dice.one_in(10)) return;
  plan.job.cluster.start_patience = milliseconds(dice.between(300, 2000));
  const Nanoseconds patience = plan.job.cluster.start_patience;
  plan.cluster.come_after.resize(plan.job.cluster.replicas + plan.job.cluster.loaders);
  for (int late = 0; late < 2; ++late) {
    Nanoseconds& after = plan.cluster.come_after[dice.below(plan.cluster.come_after.size())];
    after = dice.one_in(4) ? Nanoseconds(-1) : dice.between(Nanoseconds(1), 3 * patience);
  }
}

}  // namespace muster::simulation
