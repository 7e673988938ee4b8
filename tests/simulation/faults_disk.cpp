// What can go wrong with the disk of the checkpoints, and runs that are told to end before their job.
#include <algorithm>
#include <array>
#include <set>

#include "actors/checkpoint/checkpoint_manifest.hpp"
#include "tests/simulation/faults.hpp"
#include "tests/support/faulty_disk.hpp"

namespace muster::simulation {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

FaultyDisk& disk_of(Cluster& cluster) {
  return dynamic_cast<FaultyDisk&>(*cluster.disk());
}

bool has_folder(const Scene& scene) {
  return !scene.job.checkpoint.folder.empty();
}

// Up to longer than a run waits for it.
bool draw_trouble(Dice& dice, const Scene& scene, Fault& fault) {
  fault.lasts = dice.between(Nanoseconds(milliseconds(20)), Nanoseconds(seconds(dice.one_in(4) ? 60 : 5)));
  return has_folder(scene);
}

// How, and from whom: its strength.
bool draw_away(Dice& dice, const Scene& scene, Fault& fault) {
  const std::uint64_t whom = dice.between(0, 2), how = dice.one_in(3) ? 0 : dice.between(0, 2);
  fault.strength = static_cast<double>(3 * whom + how);
  return draw_trouble(dice, scene, fault);
}

void take_disk_away(Cluster& cluster, const Fault& fault) {
  const auto strength = static_cast<int>(fault.strength);
  const Away how = std::array{Away::unmounted, Away::all, Away::reads}.at(strength % 3);
  const int whom = strength / 3;
  cluster.set_disk_away(whom == 1 ? Away::no : how, whom == 2 ? Away::no : how);
}

// Those that are whole: a manifest is written last.
std::vector<std::string> weights_of_checkpoints(FaultyDisk& disk) {
  std::set<std::string> weights;  // two may have the same
  for (const Disk::File& file : disk.list()) {
    const auto name = parse_checkpoint_name(file.name, "");
    if (name && name->is_manifest() && disk.holds(name->stem + ".safetensors"))
      weights.insert(name->stem + ".safetensors");
  }
  return {weights.begin(), weights.end()};
}

std::uint64_t step_in(const std::string& name) {
  return std::stoull(name.substr(name.find("-step-") + 6));
}

// The newest `count` of them.
void damage_checkpoints(Cluster& cluster, std::size_t count) {
  FaultyDisk& disk = disk_of(cluster);
  std::vector<std::string> weights = weights_of_checkpoints(disk);
  std::ranges::sort(weights, std::greater{}, step_in);
  weights.resize(std::min(weights.size(), count));
  for (const std::string& name : weights) disk.damage(name, 77);
}

}  // namespace

std::vector<FaultKind> faults_of_reading() {
  return {{"damaged-checkpoints", "bits of the newest checkpoints flip on their disk",
           [](Dice& dice, const Scene& scene, Fault& fault) {
             fault.strength = static_cast<double>(dice.between(1, dice.one_in(4) ? 100 : 3));
             return has_folder(scene);
           },
           [](Cluster& cluster, const Fault& fault) {
             damage_checkpoints(cluster, static_cast<std::size_t>(fault.strength));
           },
           nullptr},
          {"unshared-folder", "a replica reads nothing where it looks for checkpoints",
           [](Dice& dice, const Scene& scene, Fault& fault) {
             const auto slot = static_cast<std::uint32_t>(dice.below(scene.job.cluster.replicas));
             fault.a = NodeName{false, slot}.text();
             fault.costs = {fault.a};
             return has_folder(scene) && scene.job.cluster.replicas > 1;
           },
           [](Cluster& cluster, const Fault& fault) { cluster.blind(fault.a); }, nullptr}};
}

// One replica's, or those of all.
void hang_disk(Cluster& cluster, const Fault& fault) {
  for (const std::string& name : cluster.nodes()) {
    if (name == fault.a || (fault.a.empty() && name.starts_with("replica")))
      cluster.freeze(name, "muster-disk");
  }
}

std::vector<FaultKind> faults_of_disks() {
  return {
      {"disk-hangs", "the disk of the checkpoints answers no more, on one replica or on all, for good",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         const auto name = [](std::uint32_t slot) { return NodeName{false, slot}.text(); };
         for (std::uint32_t slot = 0; slot < scene.job.cluster.replicas; ++slot)
           fault.costs.insert(name(slot));
         if (!dice.one_in(3)) {
           fault.a =
               name(dice.one_in(2) ? 0 : static_cast<std::uint32_t>(dice.below(scene.job.cluster.replicas)));
           fault.costs = {fault.a};  // one that goes back to a checkpoint waits for its disk
         }
         return has_folder(scene);
       },
       hang_disk, nullptr},
      {"disk-full", "the disk of the checkpoints is full for a while", draw_trouble,
       [](Cluster& cluster, const Fault&) { disk_of(cluster).set_room(0); },
       [](Cluster& cluster, const Fault&) { disk_of(cluster).set_room(FaultyDisk::kNever); }},
      {"disk-refuses", "the disk of the checkpoints takes no change for a while", draw_trouble,
       [](Cluster& cluster, const Fault&) { disk_of(cluster).set_read_only(true); },
       [](Cluster& cluster, const Fault&) { disk_of(cluster).set_read_only(false); }},
      {"disk-slow", "the coordinator's calls of the folder of checkpoints take long for a while",
       [](Dice& dice, const Scene& scene, Fault& fault) {
         fault.strength = static_cast<double>(dice.between(501, dice.one_in(4) ? 10'000 : 1'000));
         return draw_trouble(dice, scene, fault);
       },
       [](Cluster& cluster, const Fault& fault) {
         cluster.set_folder_slow(milliseconds(static_cast<std::int64_t>(fault.strength)));
       },
       [](Cluster& cluster, const Fault&) { cluster.set_folder_slow(Nanoseconds(0)); }},
      {"disk-away",
       "no process, or not the coordinator, or no replica can reach the disk of the checkpoints for a while",
       draw_away, take_disk_away,
       [](Cluster& cluster, const Fault&) { cluster.set_disk_away(Away::no, Away::no); }}};
}

std::vector<FaultKind> ends() {
  const auto draw = [](Dice&, const Scene& scene, Fault&) { return has_folder(scene); };
  return {{"kill-all", "all processes are killed at once, or all machines lose their power",
           [](Dice& dice, const Scene& scene, Fault& fault) {
             fault.strength = dice.one_in(2) ? 1 : 0;
             return has_folder(scene);
           },
           [](Cluster& cluster, const Fault& fault) { cluster.kill_all(fault.strength > 0); }, nullptr},
          {"told-to-end", "the launcher is told to end (SIGTERM)", draw,
           [](Cluster& cluster, const Fault&) { cluster.ask_to_end(); }, nullptr},
          {"leave-all", "every replica is asked to leave at once (SIGTERM)", draw,
           [](Cluster& cluster, const Fault&) {
             for (const std::string& name : cluster.nodes()) {
               if (name.rfind("replica", 0) == 0) cluster.ask_to_leave(name);
             }
           },
           nullptr}};
}

}  // namespace muster::simulation
