// Errors that a process meets by itself, or every process at the same micro-batch; and greetings that do not
// arrive.
#include "tests/simulation/faults.hpp"
#include "tests/simulation/planted_errors.hpp"

namespace muster::simulation {

namespace {

// A gradient or a sample; who computes, or who reads.
Planted planted_in(const Fault& fault) {
  return fault.strength > 1 ? Planted::in_source : Planted::in_model;
}

void draw_kind(Dice& dice, Fault& fault) {
  fault.strength = static_cast<double>(dice.between(1, 2));
}

bool draw_local_error(Dice& dice, const Scene& scene, Fault& fault) {
  draw_kind(dice, fault);
  const bool at_a_loader = planted_in(fault) == Planted::in_source && scene.job.cluster.loaders > 0;
  const std::uint32_t among = at_a_loader ? scene.job.cluster.loaders : scene.job.cluster.replicas;
  if (at_a_loader && among < 2) return false;
  fault.a = NodeName{at_a_loader, static_cast<std::uint32_t>(dice.below(among))}.text();
  fault.costs = {fault.a};
  return true;
}

}  // namespace

std::vector<FaultKind> faults_of_errors() {
  return {
      {"local-error", "a replica's next gradient, or the next sample that it or a loader reads, fails",
       draw_local_error,
       [](Cluster& cluster, const Fault& fault) {
         if (const auto errors = cluster.errors_of(fault.a)) errors->next = planted_in(fault);
       },
       nullptr},
      // A new view is needed for it: somebody comes.
      {"deaf-to-greetings", "no greeting of a new view arrives at a replica; all else does",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         fault.a = NodeName{false, static_cast<std::uint32_t>(dice.below(scene.job.cluster.replicas))}.text();
         fault.costs = {fault.a};
         return true;
       },
       [](Cluster& cluster, const Fault& fault) {
         cluster.deafen(fault.a);
         cluster.join(false);
       },
       nullptr}};
}

std::vector<FaultKind> errors_everywhere() {
  return {
      {"error-everywhere", "one gradient, or one sample, fails wherever it is tried",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         draw_kind(dice, fault);
         return !scene.job.checkpoint.folder.empty();
       },
       [](Cluster& cluster, const Fault& fault) { cluster.cursed().planted = planted_in(fault); }, nullptr},
      {"hang-everywhere", "one gradient does not return, wherever it is tried",
       [](Dice&, const Scene&, Fault&) { return true; },
       [](Cluster& cluster, const Fault&) { cluster.cursed().planted = Planted::hangs; }, nullptr},
      {"not-finite", "the loss of one micro-batch is NaN, whoever computes it",
       [](Dice&, const Scene& scene, Fault&) { return !scene.job.checkpoint.folder.empty(); },
       [](Cluster& cluster, const Fault&) { cluster.spoiled().planted = true; }, nullptr}};
}

}  // namespace muster::simulation
