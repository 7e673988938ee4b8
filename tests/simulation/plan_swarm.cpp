#include "tests/simulation/plan_swarm.hpp"

#include <set>

#include "tests/simulation/faults.hpp"
#include "tests/simulation/plan_dice.hpp"

namespace muster::simulation {

PlanOptions swarm(std::uint64_t seed, const PlanOptions& all) {
  constexpr std::size_t kShort = 20;
  Dice dice = dice_of(seed, DiceOf::swarm);
  if (all.faults.size() <= kShort || !dice.one_in(4)) return all;
  const auto wanted = dice.between(std::size_t{2}, std::size_t{6});
  std::set<std::string> some;
  while (some.size() < wanted) some.insert(dice.one_of(all.faults));
  return {all.nodes, {some.begin(), some.end()}};
}

}  // namespace muster::simulation
