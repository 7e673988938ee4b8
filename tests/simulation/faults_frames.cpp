// What a network may do to single frames that no transport expects of it: they come twice, or damaged.
#include "tests/simulation/faults.hpp"

namespace muster::simulation {

namespace {

// Of the header of a frame, or of a report of a round; there are more of these bits.
constexpr std::uint64_t kBits = 4096;

// A replica, and a node whose frames come to it.
bool draw_receiver(Dice& dice, const Scene& scene, Fault& fault) {
  const auto& cluster = scene.job.cluster;
  const std::uint64_t sender = dice.below(cluster.replicas + cluster.loaders);
  fault.a = NodeName{false, static_cast<std::uint32_t>(dice.below(cluster.replicas))}.text();
  fault.b = sender < cluster.replicas
                ? NodeName{false, static_cast<std::uint32_t>(sender)}.text()
                : NodeName{true, static_cast<std::uint32_t>(sender - cluster.replicas)}.text();
  return fault.a != fault.b;
}

}  // namespace

std::vector<FaultKind> faults_of_frames() {
  return {
      {"repeated-frames", "what one node sends to a replica comes twice for a while",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         fault.lasts = short_time(dice, scene);
         return draw_receiver(dice, scene, fault);
       },
       [](Cluster& cluster, const Fault& fault) { cluster.repeat_frames(fault.a, fault.b, true); },
       [](Cluster& cluster, const Fault& fault) { cluster.repeat_frames(fault.a, fault.b, false); }},
      {"damaged-frame", "a bit flips in the header of a frame to a replica, or in a report of a round",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         fault.strength = static_cast<double>(dice.below(kBits));
         if (!draw_receiver(dice, scene, fault)) return false;
         for (const std::string& who : {fault.a, fault.b}) {  // it is a broken link; the last loader stays
           if (who.rfind("replica", 0) == 0 || scene.job.cluster.loaders > 1) fault.costs.insert(who);
         }
         return true;
       },
       [](Cluster& cluster, const Fault& fault) {
         cluster.damage_frame(fault.a, fault.b, static_cast<std::uint64_t>(fault.strength));
       },
       nullptr}};
}

}  // namespace muster::simulation
