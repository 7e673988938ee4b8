#include "tests/simulation/plan_ending.hpp"

#include <algorithm>

#include "tests/simulation/plan_dice.hpp"

namespace muster::simulation {

namespace {

using std::chrono::milliseconds;

// Who asks for so few kinds wants to see them.
constexpr std::size_t kFewKinds = 6;

bool asks_for(const PlanOptions& options, const std::string& kind) {
  return std::ranges::find(options.faults, kind) != options.faults.end();
}

bool asks_for_few(const PlanOptions& options) {
  return options.faults.size() <= kFewKinds;
}

void give_a_folder(Dice& dice, Plan& plan) {
  if (!plan.disk) plan.job.checkpoint = {"disk", {dice.between(1, 12), Interval::Unit::steps}, 3};
  plan.disk = true;
}

void draw_one_of(std::vector<FaultKind> kinds, Dice& dice, const PlanOptions& options, Plan& plan) {
  const auto is_unasked = [&](const FaultKind& each) { return !asks_for(options, each.name); };
  if (asks_for_few(options)) std::erase_if(kinds, is_unasked);
  if (kinds.empty()) return;
  const FaultKind& kind = dice.one_of(kinds);
  if (is_unasked(kind)) return;
  give_a_folder(dice, plan);
  Fault fault;
  fault.kind = kind.name;
  if (!kind.draw(dice, {plan.job, plan.cluster}, fault)) return;
  fault.moment = {"commit", dice.between(1, 20), dice.between(Nanoseconds(0), Nanoseconds(milliseconds(20)))};
  plan.faults.push_back(std::move(fault));
}

std::vector<FaultKind> kinds_of_end(Dice& dice, const PlanOptions& options) {
  if (!asks_for_few(options)) {
    return !dice.one_in(5) ? ends()
                           : std::vector{fault_kind(dice.one_in(3) ? "hang-everywhere" : "error-everywhere")};
  }
  std::vector<FaultKind> all = ends();
  for (FaultKind& each : errors_everywhere()) {
    if (each.name != "not-finite") all.push_back(std::move(each));
  }
  return all;
}

}  // namespace

void draw_ending(std::uint64_t seed, const PlanOptions& options, Plan& plan) {
  Dice dice = dice_of(seed, DiceOf::ending);
  if (!asks_for_few(options) && !dice.one_in(5)) return;
  if (!dice.one_in(3)) draw_one_of(faults_of_disks(), dice, options, plan);
  if (!dice.one_in(3)) draw_one_of(kinds_of_end(dice, options), dice, options, plan);
}

void draw_not_finite(std::uint64_t seed, const PlanOptions& options, Plan& plan) {
  Dice dice = dice_of(seed, DiceOf::not_finite);
  const std::string kind = "not-finite";
  if (!asks_for(options, kind)) return;
  if (asks_for_few(options))
    give_a_folder(dice, plan);
  else if (!plan.disk || !dice.one_in(16))
    return;
  Fault fault;
  fault.kind = kind;
  fault.moment = {"commit", dice.between(1, 40), Nanoseconds(0)};
  plan.faults.push_back(std::move(fault));
  if (dice.one_in(4)) plan.job.train.not_finite = OnNotFinite::report;
}

}  // namespace muster::simulation
