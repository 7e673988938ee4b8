// Where a job runs: which replica holds which shards, on which device, with how many threads. Pure: what the
// machine has is handed in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "muster/job.hpp"
#include "muster/mistake.hpp"

namespace muster {

/// Shards [begin, end) of one replica.
struct ShardInterval {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  bool operator==(const ShardInterval&) const = default;
};

/// Shards to replicas: contiguous, in order, sizes that differ by at most one, the larger ones first. With
/// more replicas than shards the last intervals are empty. `replicas` must not be 0.
std::vector<ShardInterval> place_shards(std::uint32_t shards, std::uint32_t replicas);

/// What this machine has.
struct Inventory {
  std::vector<int> cores;   ///< logical cores that this process may use; never empty
  int cuda_devices = 0;     ///< GPUs that can be used
  std::string cuda_reason;  ///< why there is none, where there is none
};

struct Placement {
  std::vector<std::string> devices;  ///< one for each replica; "cpu:K" is inventory.cores[K]
  /// The logical cores that each replica's process stays on; empty: they may use all. Replicas that follow
  /// each other share one where they are more than the cores.
  std::vector<std::vector<int>> cores;
  std::vector<std::string> notices;   ///< what a user should know: "4 replicas share 2 cores"
  std::uint32_t compute_threads = 0;  ///< of all replicas on this machine together
  std::uint32_t loader_threads =
      0;  ///< of all replicas and loader processes together; 0: loading is done between steps
};

/// Whether each replica's process is to stay on a share of the cores, where they can be shared out evenly:
/// those of a run without loader processes that names no devices.
bool shares_out_cores(const Job& job);

/// Replicas to devices of this machine. Without `cluster.devices` the cores are taken in turn. Compute and
/// loader threads together never exceed the cores unless the job says so (data.threads, cluster.loaders), or
/// there are more replicas than cores; then each has one compute thread, loading takes none of its own, and a
/// notice says so. A device that is not there is added to `mistakes`; then the placement must not be used.
/// The job must have passed check_job.
Placement place_devices(const Job& job, const Inventory& inventory, const Places& places,
                        std::vector<Mistake>& mistakes);

/// What is wrong with a device that is asked for under `key`; none if this machine has it.
std::optional<Mistake> missing_device(const std::string& name, const std::string& key,
                                      const Inventory& inventory);

}  // namespace muster
