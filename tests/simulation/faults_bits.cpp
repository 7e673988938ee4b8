// What a bad memory, or another processor, does to the bits of one replica. Drawn by draw_bits alone
// (plan_bits.cpp): what is found of it depends on how often the job audits.
#include "tests/simulation/faults.hpp"

namespace muster::simulation {

namespace {

constexpr std::uint64_t kChoices = kByMuch;

// Of GPUs a block is hashed a step late: that is shown by tests of their own.
bool draw_victim(Dice& dice, const Scene& scene, Fault& fault) {
  if (scene.job.cluster.replicas < 2 || scene.cluster.gpus) return false;
  fault.a = NodeName{false, static_cast<std::uint32_t>(dice.below(scene.job.cluster.replicas))}.text();
  fault.costs = {fault.a};
  fault.strength = static_cast<double>(dice.below(kChoices));
  return true;
}

bool draw_audited(Dice& dice, const Scene& scene, Fault& fault) {
  const TrainConfig& train = scene.job.train;
  const bool audits = !train.shards_have_state() && train.audit.every > 0 &&
                      scene.job.data.source != "generated" &&
                      scene.job.cluster.straggler.action != StragglerAction::speculate;
  return audits && draw_victim(dice, scene, fault);
}

FaultKind flip(const std::string& name, const std::string& meaning, WrongBits::Flip what) {
  return {name, meaning, draw_victim,
          [what](Cluster& cluster, const Fault& fault) {
            cluster.flip_bit(fault.a, what, static_cast<std::uint64_t>(fault.strength));
          },
          nullptr};
}

}  // namespace

std::vector<FaultKind> faults_of_bits() {
  const auto odd = [](Cluster& cluster, const Fault& fault) {
    cluster.make_odd(fault.a, fault.strength >= kByMuch);
  };
  const auto draw_later = [](Dice& dice, const Scene& scene, Fault& fault) {
    const bool drawn = draw_audited(dice, scene, fault);
    if (dice.one_in(2)) fault.strength = kByMuch;
    return drawn;
  };
  return {flip("flip-weights", "a bit of one replica's weights is flipped", WrongBits::Flip::weights),
          flip("flip-result", "a bit of what one replica has received as the mean gradient is flipped",
               WrongBits::Flip::result),
          {"odd", "a replica's gradients are an ulp beside those of the others, from the beginning",
           draw_audited, odd, nullptr},
          {"odd-later", "the same, from some step on; or more than an ulp", draw_later, odd, nullptr},
          {"odd-at-times", "likewise, but in about half of its gradients", draw_later,
           [](Cluster& cluster, const Fault& fault) {
             cluster.make_odd(fault.a, fault.strength >= kByMuch, true);
           },
           nullptr}};
}

}  // namespace muster::simulation
