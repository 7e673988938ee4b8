// What can go wrong with loader processes and with single threads: a thread that stands still in a process
// that lives, a link between a loader and a replica that is cut for good, demands and micro-batches that are
// lost.
#include <algorithm>

#include "tests/simulation/faults.hpp"

namespace muster::simulation {

namespace {

using std::chrono::seconds;

constexpr const char* kProgress = "muster-progress";
constexpr const char* kLoad = "muster-load";

std::string any_of(Dice& dice, bool loader, std::uint32_t count) {
  return NodeName{loader, static_cast<std::uint32_t>(dice.below(count))}.text();
}

bool any_loader(Dice& dice, const Scene& scene, Fault& fault) {
  const std::uint32_t loaders = scene.job.cluster.loaders;
  if (loaders == 0) return false;
  fault.a = any_of(dice, true, loaders);
  fault.costs = {fault.a};
  return true;
}

// Who is evicted for a broken link between a loader and a replica (ClusterWatch::parties).
void cost_of_link(const Scene& scene, Fault& fault) {
  const auto& cluster = scene.job.cluster;
  const bool replaced = cluster.loaders > 1 || cluster.on_loader_loss == OnLoaderLoss::load_here;
  fault.costs = {replaced ? fault.a : fault.b};
}

bool draw_loading_link(Dice& dice, const Scene& scene, Fault& fault) {
  if (!any_loader(dice, scene, fault)) return false;
  fault.b = any_of(dice, false, scene.job.cluster.replicas);
  cost_of_link(scene, fault);
  fault.strength = static_cast<double>(dice.below(3));  // both ways, from the loader, to the loader
  return true;
}

// The coordinator hears both; their connection neither fails nor times out.
void cut_loading_link(Cluster& cluster, const Fault& fault) {
  const Disturbance cut{.blocked = true, .times_out = false};
  if (fault.strength != 2) cluster.disturb_data(fault.a, fault.b, cut);
  if (fault.strength != 1) cluster.disturb_data(fault.b, fault.a, cut);
}

void freeze(Cluster& cluster, const Fault& fault) {
  cluster.freeze(fault.a, fault.b);
}

void thaw(Cluster& cluster, const Fault& fault) {
  cluster.thaw(fault.a, fault.b);
}

std::vector<FaultKind> frozen_threads() {
  return {
      {"freeze-loader", "a thread of a loader stands still for good; the process lives",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         fault.b = dice.one_in(3) ? kProgress : kLoad;
         return any_loader(dice, scene, fault);
       },
       freeze, nullptr},
      {"freeze-replica", "a thread of a replica stands still, for longer than anybody waits for it",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         fault.a = any_of(dice, false, scene.job.cluster.replicas);
         fault.b = dice.one_of(std::vector<std::string>{"muster-compute", kProgress, kLoad});
         fault.lasts = dice.between(Nanoseconds(seconds(4)), Nanoseconds(seconds(20)));
         fault.costs = {fault.a};
         return true;
       },
       freeze, thaw},
      {"freeze-for-good", "a thread of a replica stands still for good; the process lives",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         fault.a = any_of(dice, false, scene.job.cluster.replicas);
         fault.b = dice.one_of(std::vector<std::string>{"muster-compute", kProgress, kLoad, "muster-back"});
         fault.costs = {fault.a};
         return scene.job.cluster.replicas > scene.job.cluster.min_replicas;
       },
       freeze, nullptr},
      {"freeze-disk", "the thread of a replica that writes checkpoints stands still, for up to 30 s",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         fault.a = any_of(dice, false, scene.job.cluster.replicas);
         fault.b = "muster-disk";
         fault.lasts = dice.between(Nanoseconds(seconds(1)), Nanoseconds(seconds(30)));
         fault.costs = {fault.a};  // one that goes back to a checkpoint waits for its disk
         return true;
       },
       freeze, thaw},
      {"freeze-short", "a thread of a node stands still, for less than the patience",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         const auto& cluster = scene.job.cluster;
         const bool loader = cluster.loaders > 0 && dice.one_in(2);
         fault.a = any_of(dice, loader, loader ? cluster.loaders : cluster.replicas);
         fault.b = dice.one_of(std::vector<std::string>{loader ? kLoad : "muster-compute", kProgress});
         const Nanoseconds patience = cluster.detect.patience;
         fault.lasts = dice.between(patience / 20, patience * 2 / 5);
         return true;
       },
       freeze, thaw}};
}

}  // namespace

std::vector<FaultKind> faults_of_loaders() {
  std::vector<FaultKind> all = frozen_threads();
  all.push_back({"loader-link", "a loader and a replica cannot talk, one way or both, for good",
                 draw_loading_link, cut_loading_link, nullptr});
  all.push_back({"lost-demands", "demands, micro-batches or both are lost between a loader and a replica",
                 [](Dice& dice, const Scene& scene, Fault& fault) {
                   if (!draw_loading_link(dice, scene, fault)) return false;
                   fault.costs = {fault.a};
                   fault.strength = static_cast<double>(dice.between(2, 10)) / 10;
                   fault.both = dice.one_in(2);
                   fault.lasts = dice.between(Nanoseconds(scene.job.cluster.detect.patience) / 10,
                                              Nanoseconds(scene.job.cluster.detect.patience));
                   return true;
                 },
                 [](Cluster& cluster, const Fault& fault) {
                   cluster.disturb_data(fault.b, fault.a, {.loses_loading = fault.strength});
                   if (fault.both) cluster.disturb_data(fault.a, fault.b, {.loses_loading = fault.strength});
                 },
                 [](Cluster& cluster, const Fault& fault) {
                   cluster.disturb_data(fault.b, fault.a, {});
                   cluster.disturb_data(fault.a, fault.b, {});
                 }});
  all.push_back({"crash-loaders", "all loaders are killed; the replicas can load for themselves",
                 [](Dice&, const Scene& scene, Fault& fault) {
                   const auto& cluster = scene.job.cluster;
                   for (std::uint32_t slot = 0; slot < cluster.loaders; ++slot)
                     fault.costs.insert(NodeName{true, slot}.text());
                   return cluster.loaders > 0 && cluster.on_loader_loss == OnLoaderLoss::load_here;
                 },
                 [](Cluster& cluster, const Fault& fault) {
                   for (const std::string& loader : fault.costs) cluster.crash(loader, true);
                 },
                 nullptr});
  return all;
}

}  // namespace muster::simulation
