#include "tests/simulation/faults.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace muster::simulation {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string milliseconds_of(Nanoseconds time) {
  return std::to_string(time / std::chrono::microseconds(1) / 1000.0).substr(0, 10) + " ms";
}

// ---- victims

const std::string kLoaders = "loaders";  // all of them, and those to come

std::string replica(std::uint64_t slot) {
  return NodeName{false, static_cast<std::uint32_t>(slot)}.text();
}

std::string any_replica(Dice& dice, const Scene& scene) {
  return replica(dice.below(scene.job.cluster.replicas));
}

std::string any_node(Dice& dice, const Scene& scene) {
  const std::uint64_t chosen = dice.below(scene.job.cluster.replicas + scene.job.cluster.loaders);
  if (chosen < scene.job.cluster.replicas) return replica(chosen);
  return NodeName{true, static_cast<std::uint32_t>(chosen - scene.job.cluster.replicas)}.text();
}

// Two different replicas.
bool pair_of_replicas(Dice& dice, const Scene& scene, Fault& fault) {
  if (scene.job.cluster.replicas < 2) return false;
  const std::uint64_t a = dice.below(scene.job.cluster.replicas);
  fault.a = replica(a);
  fault.b = replica((a + 1 + dice.below(scene.job.cluster.replicas - 1)) % scene.job.cluster.replicas);
  return true;
}

// A node and another one that it talks with over the data plane.
bool pair_of_nodes(Dice& dice, const Scene& scene, Fault& fault) {
  fault.a = any_replica(dice, scene);
  fault.b = any_node(dice, scene);
  return fault.a != fault.b;
}

// ---- lengths

// Longer than any connection holds out.
Nanoseconds endless_time(Dice& dice) {
  return dice.between(Nanoseconds(seconds(70)), Nanoseconds(seconds(200)));
}

// ---- what is done

void disturb(Cluster& cluster, const std::string& a, const std::string& b, const Disturbance& how,
             bool both) {
  cluster.disturb_data(a, b, how);
  cluster.disturb_control(a, b, how);
  if (!both) return;
  cluster.disturb_data(b, a, how);
  cluster.disturb_control(b, a, how);
}

// The victim and everybody else.
void disturb_all(Cluster& cluster, const Fault& fault, const Disturbance& how) {
  for (const std::string& other : cluster.nodes()) {
    if (other != fault.a) disturb(cluster, fault.a, other, how, fault.both);
  }
  disturb(cluster, fault.a, Cluster::kCoordinator, how, fault.both);
}

// So that no frame takes as long as a cut link is given.
double slowest(const Scene& scene) {
  const auto delay = std::max(scene.cluster.network.delay_max, scene.cluster.control.delay_max);
  const double times = static_cast<double>(scene.job.cluster.detect.patience / std::chrono::nanoseconds(1)) /
                       static_cast<double>(delay / std::chrono::nanoseconds(1));
  return std::max(times / 5, 2.0);
}

void disturb_pair(Cluster& cluster, const Fault& fault, const Disturbance& how) {
  disturb(cluster, fault.a, fault.b, how, fault.both);
}

std::vector<FaultKind> deaths() {
  return {{"crash", "a replica's process is killed; its kernel says so, and now and then the launcher, too",
           [](Dice& dice, const Scene& scene, Fault& fault) {
             fault.a = any_replica(dice, scene);
             fault.costs = {fault.a};
             fault.strength = static_cast<double>(dice.below(2));
             return true;
           },
           [](Cluster& cluster, const Fault& fault) {
             cluster.crash(fault.a, true);
             if (fault.strength > 0) cluster.reap(fault.a);
           },
           nullptr},
          {"crash-two", "two replicas are killed at once",
           [](Dice& dice, const Scene& scene, Fault& fault) {
             if (!pair_of_replicas(dice, scene, fault)) return false;
             fault.costs = {fault.a, fault.b};
             return true;
           },
           [](Cluster& cluster, const Fault& fault) {
             cluster.crash(fault.a, true);
             cluster.crash(fault.b, true);
           },
           nullptr},
          {"power", "a node's machine is gone, and nobody says so",
           [](Dice& dice, const Scene& scene, Fault& fault) {
             fault.a = any_node(dice, scene);
             fault.costs = {fault.a};
             return true;
           },
           [](Cluster& cluster, const Fault& fault) { cluster.crash(fault.a, false); }, nullptr}};
}

std::vector<FaultKind> standstills() {
  const auto pause = [](Cluster& cluster, const Fault& fault) { cluster.pause(fault.a); };
  const auto resume = [](Cluster& cluster, const Fault& fault) { cluster.resume(fault.a); };
  const auto slow = [](Cluster& cluster, const Fault& fault) { cluster.set_slower(fault.a, fault.strength); };
  const auto fast = [](Cluster& cluster, const Fault& fault) { cluster.set_slower(fault.a, 1); };
  return {
      {"pause-short", "a node's process stands still, for less than the patience",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         fault.a = any_node(dice, scene);
         fault.lasts = short_time(dice, scene);
         return true;
       },
       pause, resume},
      {"pause-long", "a node's process stands still for longer than the patience, and wakes again",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         fault.a = any_node(dice, scene);
         fault.lasts = long_time(dice, scene);
         fault.costs = {fault.a};
         return true;
       },
       pause, resume},
      {"suspend", "the whole job stands still (SIGSTOP, a machine that sleeps), and wakes again",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         const Nanoseconds stuck = scene.job.cluster.straggler.stuck_after;
         fault.lasts = dice.one_in(2) ? long_time(dice, scene) : dice.between(stuck, 2 * stuck);
         return true;
       },
       [](Cluster& cluster, const Fault&) { cluster.suspend(); },
       [](Cluster& cluster, const Fault&) { cluster.wake(); }},
      {"suspend-host", "a replica and the coordinator beside it stand still together, and wake again",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         fault.a = any_replica(dice, scene);
         fault.lasts = long_time(dice, scene);
         fault.costs = {fault.a};
         return true;
       },
       [](Cluster& cluster, const Fault& fault) {
         cluster.pause(fault.a);
         cluster.pause(Cluster::kCoordinator);
       },
       [](Cluster& cluster, const Fault& fault) {
         cluster.resume(fault.a);
         cluster.resume(Cluster::kCoordinator);
       }},
      {"slow-replica", "a replica computes 3 to 40 times as long",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         fault.a = any_replica(dice, scene);
         fault.lasts = long_time(dice, scene);
         fault.strength = static_cast<double>(dice.between(3, 40));
         return true;
       },
       slow, fast},
      {"slow-loader", "a loader reads 3 to 40 times as long",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         if (scene.job.cluster.loaders == 0) return false;
         fault.a = NodeName{true, static_cast<std::uint32_t>(dice.below(scene.job.cluster.loaders))}.text();
         fault.lasts = long_time(dice, scene);
         fault.strength = static_cast<double>(dice.between(3, 40));
         return true;
       },
       slow, fast}};
}

// From one node to another or back, or both ways: one that is cut off answers nobody, or hears nobody.
void draw_direction(Dice& dice, Fault& fault) {
  fault.both = dice.one_in(2);
  if (!fault.both && dice.one_in(2)) std::swap(fault.a, fault.b);
}

std::vector<FaultKind> partitions() {
  const auto cut = [](Cluster& cluster, const Fault& fault) {
    disturb_all(cluster, fault, {.blocked = true});
  };
  const auto heal = [](Cluster& cluster, const Fault& fault) { disturb_all(cluster, fault, {}); };
  const auto cut_pair = [](Cluster& cluster, const Fault& fault) {
    disturb_pair(cluster, fault, {.blocked = true});
  };
  const auto heal_pair = [](Cluster& cluster, const Fault& fault) { disturb_pair(cluster, fault, {}); };
  return {{"cut-off-short", "a node is cut off from all others, for less than the patience",
           [](Dice& dice, const Scene& scene, Fault& fault) {
             fault.a = any_node(dice, scene);
             fault.lasts = short_time(dice, scene);
             return true;
           },
           cut, heal},
          {"cut-off-long", "a node is cut off from all others, for longer than the patience",
           [](Dice& dice, const Scene& scene, Fault& fault) {
             fault.a = any_node(dice, scene);
             fault.lasts = dice.one_in(4) ? endless_time(dice) : long_time(dice, scene);
             fault.costs = {fault.a};
             return true;
           },
           cut, heal},
          {"mute", "nothing of a node gets out, for longer than the patience; it hears everybody",
           [](Dice& dice, const Scene& scene, Fault& fault) {
             fault.a = any_node(dice, scene);
             fault.both = false;
             fault.lasts = dice.one_in(4) ? endless_time(dice) : long_time(dice, scene);
             fault.costs = {fault.a};
             return true;
           },
           cut, heal},
          {"no-talk-short", "two nodes cannot talk, one way or both, for less than the patience",
           [](Dice& dice, const Scene& scene, Fault& fault) {
             if (!pair_of_nodes(dice, scene, fault)) return false;
             fault.lasts = short_time(dice, scene);
             draw_direction(dice, fault);
             return true;
           },
           cut_pair, heal_pair},
          {"no-talk-long", "two nodes cannot talk for longer than the patience; the coordinator hears both",
           [](Dice& dice, const Scene& scene, Fault& fault) {
             if (!pair_of_nodes(dice, scene, fault)) return false;
             const bool only_loader = scene.job.cluster.loaders == 1;  // the replica goes
             for (const std::string& who : {fault.a, fault.b}) {
               if (who.rfind("replica", 0) == 0 || !only_loader) fault.costs.insert(who);
             }
             fault.lasts = dice.one_in(4) ? endless_time(dice) : long_time(dice, scene);
             draw_direction(dice, fault);
             return true;
           },
           cut_pair, heal_pair},
          {"sever", "the data connection of two replicas breaks; both live",
           [](Dice& dice, const Scene& scene, Fault& fault) {
             fault.costs = {};
             if (!pair_of_replicas(dice, scene, fault)) return false;
             fault.costs = {fault.a, fault.b};
             return true;
           },
           [](Cluster& cluster, const Fault& fault) { cluster.sever(fault.a, fault.b); }, nullptr}};
}

std::vector<FaultKind> bad_links() {
  const auto heal_pair = [](Cluster& cluster, const Fault& fault) { disturb_pair(cluster, fault, {}); };
  return {
      {"clog", "a link is up to 200 times as slow",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         fault.a = any_node(dice, scene);
         fault.b = dice.one_in(4) ? Cluster::kCoordinator : any_replica(dice, scene);
         fault.strength = std::min(static_cast<double>(dice.between(20, 200)), slowest(scene));
         fault.lasts = long_time(dice, scene);
         draw_direction(dice, fault);
         return fault.a != fault.b;
       },
       [](Cluster& cluster, const Fault& fault) { disturb_pair(cluster, fault, {.slower = fault.strength}); },
       heal_pair},
      {"lossy", "a link loses 1 to 30 percent of its packets, and sends them again",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         fault.a = any_node(dice, scene);
         fault.b = dice.one_in(4) ? Cluster::kCoordinator : any_replica(dice, scene);
         fault.strength = static_cast<double>(dice.between(1, 30)) / 100;
         fault.lasts = long_time(dice, scene);
         draw_direction(dice, fault);
         return fault.a != fault.b;
       },
       [](Cluster& cluster, const Fault& fault) { disturb_pair(cluster, fault, {.loss = fault.strength}); },
       heal_pair}};
}

// A run goes on as long as one loader is left.
std::vector<FaultKind> comings_and_goings() {
  const auto join = [](Cluster& cluster, const Fault& fault) {
    for (int i = 0; i < static_cast<int>(fault.strength); ++i) cluster.join(fault.a == kLoaders);
  };
  return {
      {"join", "one to three replicas come by themselves",
       [](Dice& dice, const Scene&, Fault& fault) {
         fault.strength = static_cast<double>(dice.between(1, 3));
         return true;
       },
       join, nullptr},
      {"join-loader", "a loader comes by itself",
       [](Dice&, const Scene& scene, Fault& fault) {
         fault.a = kLoaders;
         return scene.job.cluster.loaders > 0;
       },
       join, nullptr},
      {"crash-loader", "a loader is killed, another one is left",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         if (scene.job.cluster.loaders < 2) return false;
         fault.a = NodeName{true, static_cast<std::uint32_t>(dice.below(scene.job.cluster.loaders))}.text();
         fault.costs = {fault.a};
         return true;
       },
       [](Cluster& cluster, const Fault& fault) { cluster.crash(fault.a, true); }, nullptr},
      {"leave", "a node is asked to leave (SIGTERM)",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         fault.a = any_node(dice, scene);
         fault.costs = {fault.a};
         return true;
       },
       [](Cluster& cluster, const Fault& fault) { cluster.ask_to_leave(fault.a); }, nullptr},
      {"leave-two", "two replicas are asked to leave at once",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         if (!pair_of_replicas(dice, scene, fault)) return false;
         fault.costs = {fault.a, fault.b};
         return true;
       },
       [](Cluster& cluster, const Fault& fault) {
         cluster.ask_to_leave(fault.a);
         cluster.ask_to_leave(fault.b);
       },
       nullptr},
      {"restart", "a replica is killed, and its process comes again at once",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         fault.a = any_replica(dice, scene);
         fault.costs = {fault.a};
         fault.lasts = dice.between(Nanoseconds(1), Nanoseconds(milliseconds(100)));
         return true;
       },
       [](Cluster& cluster, const Fault& fault) { cluster.crash(fault.a, true); },
       [](Cluster& cluster, const Fault&) { cluster.join(false); }}};
}

std::vector<FaultKind> odd_newcomers() {
  return {
      {"join-unlike", "a replica with other weights comes by itself",
       [](Dice&, const Scene&, Fault&) { return true; },
       [](Cluster& cluster, const Fault&) { cluster.join_unlike(); }, nullptr},
      {"join-walled", "a replica comes by itself; a firewall is between its host and that of another replica",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         fault.a = any_replica(dice, scene);
         return true;
       },
       [](Cluster& cluster, const Fault& fault) { cluster.join_walled_from(fault.a); }, nullptr},
      {"join-without-data", "a replica comes by itself that cannot read the data; loaders may be lost",
       [](Dice&, const Scene& scene, Fault&) {
         const auto& cluster = scene.job.cluster;
         return cluster.loaders > 0 && cluster.on_loader_loss == OnLoaderLoss::load_here;
       },
       [](Cluster& cluster, const Fault&) { cluster.join_without_data(); }, nullptr},
      {"join-repeated", "a replica comes by itself; all that comes to it, and to later ones, comes twice",
       [](Dice&, const Scene&, Fault&) { return true; },
       [](Cluster& cluster, const Fault&) { cluster.join_hearing_twice(); }, nullptr}};
}

std::vector<FaultKind> all_kinds() {
  std::vector<FaultKind> all;
  for (auto&& part :
       {deaths(), standstills(), partitions(), bad_links(), comings_and_goings(), odd_newcomers(),
        faults_of_the_coordinator(), faults_of_loaders(), faults_of_disks(), faults_of_reading(), ends(),
        faults_of_errors(), faults_of_frames(), errors_everywhere(), faults_of_bits()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

Nanoseconds short_time(Dice& dice, const Scene& scene) {
  const Nanoseconds patience = scene.job.cluster.detect.patience;
  return dice.between(patience / 20, patience * 2 / 5);
}

Nanoseconds long_time(Dice& dice, const Scene& scene) {
  const Nanoseconds patience = scene.job.cluster.detect.patience;
  return dice.between(patience + patience / 5, patience * 4);
}

std::string Fault::text() const {
  std::string said = kind + (a.empty() ? "" : " ") + a;
  if (a.empty()) {
    for (const std::string& each : costs) said += " " + each;
  }
  if (!b.empty()) said += (both ? " <-> " : " -> ") + b;
  if (strength != 1) said += " x" + std::to_string(strength).substr(0, 5);
  said += lasts.count() > 0 ? " for " + milliseconds_of(lasts) : "";
  return said + ", " + milliseconds_of(moment.later) + " after " + moment.what +
         (moment.nth > 1 ? " " + std::to_string(moment.nth) : "");
}

const std::vector<FaultKind>& fault_table() {
  static const std::vector<FaultKind> table = all_kinds();
  return table;
}

bool has_fault_kind(const std::string& name) {
  const auto& table = fault_table();
  return std::any_of(table.begin(), table.end(), [&](const FaultKind& kind) { return kind.name == name; });
}

const FaultKind& fault_kind(const std::string& name) {
  const auto& table = fault_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const FaultKind& kind) { return kind.name == name; });
  MUSTER_CHECK(found != table.end(), name);
  return *found;
}

}  // namespace muster::simulation
