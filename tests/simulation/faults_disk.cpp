// What can go wrong with the disk of the checkpoints, and runs that are told to end before their job.
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

}  // namespace

std::vector<FaultKind> faults_of_disks() {
  return {{"disk-full", "the disk of the checkpoints is full for a while", draw_trouble,
           [](Cluster& cluster, const Fault&) { disk_of(cluster).set_room(0); },
           [](Cluster& cluster, const Fault&) { disk_of(cluster).set_room(FaultyDisk::kNever); }},
          {"disk-refuses", "the disk of the checkpoints takes no change for a while", draw_trouble,
           [](Cluster& cluster, const Fault&) { disk_of(cluster).set_read_only(true); },
           [](Cluster& cluster, const Fault&) { disk_of(cluster).set_read_only(false); }}};
}

std::vector<FaultKind> ends() {
  const auto draw = [](Dice&, const Scene& scene, Fault&) { return has_folder(scene); };
  return {{"told-to-end", "the launcher is told to end (SIGTERM)", draw,
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
