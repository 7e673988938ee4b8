#include "tests/simulation/plan_near.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "tests/simulation/plan_dice.hpp"
#include "tests/simulation/plan_file.hpp"

namespace muster::simulation {

namespace {

std::uint64_t near(Dice& dice, std::uint64_t nth) {
  const std::uint64_t most = nth / 8 + 1;
  const std::uint64_t moved = nth + dice.between(0, 2 * most);
  return std::max<std::uint64_t>(moved, most + 1) - most;
}

void move(Dice& dice, Moment& moment) {
  if (dice.one_in(2))
    moment.later = dice.between(Nanoseconds(0), 2 * moment.later + std::chrono::microseconds(100));
  if (dice.one_in(3)) moment.nth = near(dice, moment.nth);
}

}  // namespace

PlansNear::PlansNear(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".plan") paths.push_back(entry.path().string());
  }
  if (paths.empty()) throw std::runtime_error("there is no *.plan in '" + folder + "'");
  std::ranges::sort(paths);
  for (const std::string& path : paths) {
    Plan plan = read_plan_file(path).plan;
    if (!may_give_a_number_twice(plan.faults)) known_.push_back(std::move(plan));
  }
}

Plan PlansNear::draw(std::uint64_t seed) const {
  Dice dice = dice_of(seed, DiceOf::near_plan);
  Plan plan = dice.one_of(known_);
  plan.seed = plan.cluster.seed = seed;
  plan.completes = plan.keeps = false;                   // known of that plan alone
  plan.cluster.start_is_bounded = plan.cluster.by_hand;  // as the product starts runs
  plan.cluster.reaps = !plan.cluster.by_hand;
  for (Fault& fault : plan.faults) {
    move(dice, fault.moment);
    if (fault.kind == "pause-long") fault.costs.insert(fault.a);  // all at once cost nobody
  }
  return plan;
}

}  // namespace muster::simulation
