#include "gpu/core_shares.hpp"

#include <hwloc.h>

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>

#include "gpu/device.hpp"
#include "muster/error.hpp"

namespace muster {
namespace {

struct Free {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
  void operator()(hwloc_bitmap_s* set) const { hwloc_bitmap_free(set); }
};
using Topology = std::unique_ptr<hwloc_topology, Free>;
using CoreSet = std::unique_ptr<hwloc_bitmap_s, Free>;

void must(bool good, const char* what) {
  if (!good) throw Error(std::string("hwloc cannot ") + what + "; cluster.bind_cores = false does without");
}

Topology look_at(const std::string& machine) {
  hwloc_topology* raw = nullptr;
  must(hwloc_topology_init(&raw) == 0, "begin to look at this machine");
  Topology topology(raw);
  if (!machine.empty())
    must(hwloc_topology_set_synthetic(raw, machine.c_str()) == 0, "read the description of a machine");
  must(hwloc_topology_load(raw) == 0, "look at this machine");
  if (!machine.empty()) return topology;
  const CoreSet allowed(hwloc_bitmap_alloc());
  must(hwloc_get_cpubind(raw, allowed.get(), HWLOC_CPUBIND_THREAD) == 0, "read the cores of this process");
  must(hwloc_topology_restrict(raw, allowed.get(), 0) == 0, "leave out cores");
  return topology;
}

std::vector<int> cores_in(const hwloc_bitmap_s* set) {
  std::vector<int> cores;
  for (int core = hwloc_bitmap_first(set); core >= 0; core = hwloc_bitmap_next(set, core))
    cores.push_back(core);
  return cores;
}

}  // namespace

std::vector<std::vector<int>> share_cores(std::size_t processes, const std::string& machine) {
  const Topology topology = look_at(machine);
  const auto cores = static_cast<std::size_t>(hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_PU));
  const std::size_t together = processes > cores ? processes / cores : 1;
  if (processes == 0 || (processes > cores && processes % cores != 0)) return {};
  hwloc_obj_t root = hwloc_get_root_obj(topology.get());
  std::vector<hwloc_bitmap_s*> sets(processes / together);
  must(hwloc_distrib(topology.get(), &root, 1, sets.data(), static_cast<unsigned>(sets.size()), INT_MAX, 0) ==
           0,
       "share out the cores");
  std::vector<std::vector<int>> shares;
  for (hwloc_bitmap_s* const set : sets) shares.insert(shares.end(), together, cores_in(CoreSet(set).get()));
  return shares;
}

std::string text_of_cores(const std::vector<int>& cores) {
  const CoreSet set(hwloc_bitmap_alloc());
  for (const int core : cores) hwloc_bitmap_set(set.get(), static_cast<unsigned>(core));
  char* raw = nullptr;
  must(hwloc_bitmap_list_asprintf(&raw, set.get()) >= 0, "name cores");
  const std::unique_ptr<char, decltype(&std::free)> text(raw, &std::free);
  return text.get();
}

// A thread that starts while this looks has the cores of the one that started it: the next look finds it.
void move_to_cores(pid_t process, const std::vector<int>& cores) {
  const std::filesystem::path threads = "/proc/" + std::to_string(process) + "/task";
  std::set<pid_t> moved;
  for (bool all = false; !all;) {
    all = true;
    std::error_code ended;
    for (std::filesystem::directory_iterator entry(threads, ended), end; !ended && entry != end;
         entry.increment(ended)) {
      const pid_t thread = std::stoi(entry->path().filename().string());
      if (!moved.insert(thread).second) continue;
      stay_on(cores, thread);
      all = false;
    }
  }
}

OnCores::OnCores(const std::vector<int>& cores) {
  if (cores.empty()) return;
  before_ = allowed_cores();
  stay_on(cores);
}

OnCores::~OnCores() {
  if (!before_.empty()) stay_on(before_);
}

}  // namespace muster
