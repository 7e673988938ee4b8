#include "config/placement.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/count_of.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "config/values/device_name.hpp"

namespace muster {
namespace {

constexpr std::size_t kDevicesListed = 8;  // more than so many are shown as a range

std::vector<std::string> names(DeviceKind kind, std::size_t count) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < count; ++i) {
    result.push_back(format_device({kind, static_cast<int>(i)}));
  }
  return result;
}

// "cpu:0, cpu:1" or "cpu:0 to cpu:63"; empty where there is none.
std::string listed(const std::vector<std::string>& devices) {
  if (devices.size() > kDevicesListed) {
    return devices.front() + " to " + devices.back();
  }
  std::string text;
  for (const std::string& device : devices) {
    text += (text.empty() ? "" : ", ") + device;
  }
  return text;
}

struct Devices {
  std::vector<std::string> cpu;
  std::vector<std::string> cuda;

  std::string text() const { return listed(cpu) + (cuda.empty() ? "" : ", ") + listed(cuda); }
};

Devices devices_of(const Inventory& inventory) {
  return {names(DeviceKind::cpu, inventory.cores.size()),
          names(DeviceKind::cuda, static_cast<std::size_t>(std::max(inventory.cuda_devices, 0)))};
}

void check_device(const std::string& text, const std::string& key, const Devices& present,
                  const Inventory& inventory, const Places& places, std::vector<Mistake>& mistakes) {
  const std::optional<DeviceName> device = parse_device(text);
  const bool cuda = device && device->kind == DeviceKind::cuda;
  const std::vector<std::string>& alike = cuda ? present.cuda : present.cpu;
  if (device && static_cast<std::size_t>(device->index) < alike.size()) {
    return;
  }
  std::string what = device ? "a device that is not there" : "not a device";
  if (cuda && alike.empty() && !inventory.cuda_reason.empty()) {
    what += " (" + inventory.cuda_reason + ")";
  }
  mistakes.push_back(mistake_at(places, key, what, shortened(in_quotes(text)),
                                "this node has " + present.text(),
                                in_quotes(closest(text, alike.empty() ? present.cpu : alike))));
}

std::uint64_t loader_threads(const Job& job, std::uint64_t cores) {
  const std::uint64_t replicas = job.cluster.replicas;
  if (job.cluster.loaders > 0) {
    return std::uint64_t{job.cluster.loaders} * std::max(job.data.threads, 1u);
  }
  if (job.data.threads > 0) {
    return replicas * job.data.threads;
  }
  return replicas * (job.train.threads + 1ull) <= cores ? replicas : 0;
}

void place_threads(const Job& job, std::size_t cores, const Places& places, Placement& placement,
                   std::vector<Mistake>& mistakes) {
  const std::uint64_t compute = std::uint64_t{job.cluster.replicas} * job.train.threads;
  const std::uint64_t loading = loader_threads(job, cores);
  placement.compute_threads = static_cast<std::uint32_t>(compute);
  placement.loader_threads = static_cast<std::uint32_t>(loading);
  const std::string shared = count_of(cores, "core");
  if (compute > cores && job.train.threads > 1) {
    const std::size_t fitting = std::max<std::size_t>(cores / job.cluster.replicas, 1);
    mistakes.push_back(mistake_at(places, "train.threads", "more compute threads than cores",
                                  count_of(job.cluster.replicas, "replica") + " with " +
                                      count_of(job.train.threads, "thread") + " each",
                                  "at most " + std::to_string(fitting) + " on " + shared,
                                  std::to_string(fitting)));
  } else if (job.cluster.replicas > cores) {
    placement.notices.push_back(count_of(job.cluster.replicas, "replica") + " share " + shared);
  }
  if (loading > 0 && compute + loading > cores) {
    placement.notices.push_back(count_of(compute, "compute thread") + " and " +
                                count_of(loading, "loader thread") + " share " + shared);
  }
}

}  // namespace

std::vector<ShardInterval> place_shards(std::uint32_t shards, std::uint32_t replicas) {
  MUSTER_CHECK(replicas > 0, "shards", shards);
  std::vector<ShardInterval> intervals;
  std::uint32_t begin = 0;
  for (std::uint32_t replica = 0; replica < replicas; ++replica) {
    const std::uint32_t size = shards / replicas + (replica < shards % replicas ? 1 : 0);
    intervals.push_back({begin, begin + size});
    begin += size;
  }
  return intervals;
}

bool shares_out_cores(const Job& job) {
  const auto& cluster = job.cluster;
  return cluster.bind_cores && cluster.devices.empty() && cluster.loaders == 0 && cluster.replicas > 1;
}

Placement place_devices(const Job& job, const Inventory& inventory, const Places& places,
                        std::vector<Mistake>& mistakes) {
  MUSTER_CHECK(!inventory.cores.empty(), "replicas", job.cluster.replicas);
  const std::size_t cores = inventory.cores.size();
  const Devices present = devices_of(inventory);
  Placement placement;
  placement.devices = job.cluster.devices;
  for (std::size_t i = 0; i < placement.devices.size(); ++i) {
    const std::string key = "cluster.devices[" + std::to_string(i) + "]";
    check_device(placement.devices[i], key, present, inventory, places, mistakes);
  }
  for (std::uint32_t replica = 0; job.cluster.devices.empty() && replica < job.cluster.replicas; ++replica) {
    placement.devices.push_back(present.cpu[replica % cores]);
  }
  place_threads(job, cores, places, placement, mistakes);
  return placement;
}

std::optional<Mistake> missing_device(const std::string& name, const std::string& key,
                                      const Inventory& inventory) {
  std::vector<Mistake> mistakes;
  check_device(name, key, devices_of(inventory), inventory, {}, mistakes);
  return mistakes.empty() ? std::nullopt : std::optional(mistakes.front());
}

}  // namespace muster
