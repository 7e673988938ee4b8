#include "config/schema/constraints.hpp"

#include <algorithm>
#include <map>

#include "base/nearest.hpp"
#include "base/text.hpp"
#include "config/schema/exclusions.hpp"
#include "config/schema/schema.hpp"
#include "config/values/device_name.hpp"
#include "config/values/port_range.hpp"

namespace muster {
namespace {

constexpr int kHeartbeatsPerPatience = 3;

// A rule sees the job and its places, and adds its mistakes.
struct Rule {
  std::vector<std::string> keys;  // that it looks at
  void (*check)(const Job&, const Places&, std::vector<Mistake>&);
};

std::string with_value(const std::string& key, const std::string& value) {
  return key + " = " + value;
}

void check_repeat(const Job& job, const Places& places, std::vector<Mistake>& mistakes) {
  if (!job.data.repeat || job.train.steps || job.train.epochs) return;
  const Key& repeat = *find_key("data.repeat");
  mistakes.push_back(mistake_at(places, "data.repeat", "serves train.steps, which is not given",
                                with_value("data.repeat", value_text(repeat.value, *repeat.get(job))),
                                "train.steps beside it, or train.epochs alone"));
}

void check_replicas(const Job& job, const Places& places, std::vector<Mistake>& mistakes) {
  const std::uint32_t shards = job.train.shards;
  const std::uint32_t replicas = job.cluster.replicas;
  if (replicas > shards) {
    mistakes.push_back(mistake_at(
        places, "cluster.replicas", "more replicas than shards, some would idle", std::to_string(replicas),
        "at most train.shards = " + std::to_string(shards), std::to_string(shards)));
  }
}

// It is part of names of files.
void check_name(const Job& job, const Places& places, std::vector<Mistake>& mistakes) {
  constexpr std::size_t kNameMax = 100;
  if (job.name.size() <= kNameMax) return;
  mistakes.push_back(mistake_at(places, "name", "too long for names of files",
                                std::to_string(job.name.size()) + " bytes",
                                "at most " + std::to_string(kNameMax) + " bytes"));
}

void check_data_ports(const Job& job, const Places& places, std::vector<Mistake>& mistakes) {
  const std::string& ports = job.cluster.data_ports;
  if (parse_port_range(ports)) return;
  mistakes.push_back(mistake_at(places, "cluster.data_ports", "no range of ports",
                                shortened(in_quotes(ports)),
                                "\"FIRST-LAST\", each from 1 to 65535, as \"7200-7299\""));
}

void check_min_replicas(const Job& job, const Places& places, std::vector<Mistake>& mistakes) {
  const ClusterConfig& cluster = job.cluster;
  if (cluster.min_replicas <= cluster.replicas) return;
  mistakes.push_back(mistake_at(
      places, "cluster.min_replicas", "more than the run begins with", std::to_string(cluster.min_replicas),
      "at most cluster.replicas = " + std::to_string(cluster.replicas), std::to_string(cluster.replicas)));
}

void check_nesterov(const Job& job, const Places& places, std::vector<Mistake>& mistakes) {
  const OptimizerConfig& optimizer = job.train.optimizer;
  if (optimizer.kind == OptimizerKind::sgd && optimizer.nesterov && optimizer.momentum <= 0) {
    mistakes.push_back(mistake_at(places, "train.optimizer.nesterov", "needs momentum",
                                  "train.optimizer.momentum = " + number_text(optimizer.momentum),
                                  "train.optimizer.momentum above 0"));
  }
}

void need_rate_key(const char* leaf, const char* schedule, const char* allowed, const Places& places,
                   std::vector<Mistake>& mistakes) {
  mistakes.push_back(mistake_at(places, std::string("train.optimizer.learning_rate.") + leaf,
                                std::string("missing, schedule \"") + schedule + "\" needs it", "", allowed));
}

void check_schedule(const Job& job, const Places& places, std::vector<Mistake>& mistakes) {
  const ScheduleConfig& rate = job.train.optimizer.learning_rate;
  if (rate.kind == ScheduleKind::step && rate.every == 0) {
    need_rate_key("every", "step", "an integer of at least 1", places, mistakes);
  }
  if (rate.kind == ScheduleKind::warm_up && rate.warm_up == 0) {
    need_rate_key("warm_up", "warm-up", "an integer of at least 1", places, mistakes);
  }
  if (rate.kind != ScheduleKind::cosine) {
    return;
  }
  if (rate.steps == 0) {
    need_rate_key("steps", "cosine", "an integer of at least 1", places, mistakes);
  } else if (rate.warm_up >= rate.steps) {
    mistakes.push_back(mistake_at(places, "train.optimizer.learning_rate.warm_up",
                                  "leaves no steps for the cosine", std::to_string(rate.warm_up),
                                  "less than steps = " + std::to_string(rate.steps)));
  }
}

void check_detect(const Job& job, const Places& places, std::vector<Mistake>& mistakes) {
  const DetectConfig& detect = job.cluster.detect;
  if (detect.heartbeat > detect.patience / kHeartbeatsPerPatience) {
    const ValueSpec& spec = find_key("cluster.detect.patience")->value;
    const std::string beat = value_text(spec, std::int64_t{detect.heartbeat.count()});
    mistakes.push_back(mistake_at(
        places, "cluster.detect.patience", "too short for the heartbeat",
        value_text(spec, std::int64_t{detect.patience.count()}),
        "at least " + std::to_string(kHeartbeatsPerPatience) + " times cluster.detect.heartbeat = " + beat));
  }
}

std::string device_key(std::size_t index) {
  return "cluster.devices[" + std::to_string(index) + "]";
}

void check_devices(const Job& job, const Places& places, std::vector<Mistake>& mistakes) {
  const std::vector<std::string>& devices = job.cluster.devices;
  std::map<std::string, std::size_t> first;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!parse_device(devices[i])) {
      const std::string near = nearest(devices[i], {"cpu:0", "cpu:1", "cuda:0", "cuda:1"});
      mistakes.push_back(mistake_at(places, device_key(i), "not a device", shortened(in_quotes(devices[i])),
                                    std::string(kDeviceAllowed), near.empty() ? "" : in_quotes(near)));
      continue;
    }
    const auto [entry, is_new] = first.emplace(devices[i], i);
    if (!is_new && !job.cluster.share_devices) {
      mistakes.push_back(mistake_at(places, device_key(i), "a device listed twice",
                                    in_quotes(devices[i]) + ", also at " + device_key(entry->second),
                                    "each device once, or cluster.share_devices = true"));
    }
  }
}

void check_device_count(const Job& job, const Places& places, std::vector<Mistake>& mistakes) {
  const std::size_t devices = job.cluster.devices.size();
  const std::uint32_t replicas = job.cluster.replicas;
  if (devices != 0 && devices != replicas) {
    mistakes.push_back(
        mistake_at(places, "cluster.devices", "not one device for each replica",
                   std::to_string(devices) + (devices == 1 ? " device" : " devices"),
                   "exactly cluster.replicas = " + std::to_string(replicas) + ", or no cluster.devices"));
  }
}

// Keys that mean nothing with the chosen optimizer or schedule: given in the file, or changed in C++.
void check_selected(const Job& job, const Places& places, const BrokenKeys& broken,
                    std::vector<Mistake>& mistakes) {
  static const Job defaults;
  for (const Key& key : job_keys()) {
    const bool given = places.contains(key.path) || key.get(job) != key.get(defaults);
    if (!given || applies(key, job) || is_broken(broken, key.path) || is_broken(broken, key.selector)) {
      continue;
    }
    const Key& selector = *find_key(key.selector);
    const std::string chosen = value_text(selector.value, *selector.get(job));
    std::vector<std::string> fitting;
    for (const Key& other : job_keys()) {
      if (other.selector == key.selector && applies(other, job)) {
        fitting.push_back(leaf_of(other.path));
      }
    }
    mistakes.push_back(
        mistake_at(places, key.path,
                   "belongs to " + leaf_of(key.selector) + ' ' + any_of_text(quoted_all(key.selected_by)),
                   with_value(key.selector, chosen),
                   fitting.empty() ? "none of its kind with " + chosen
                                   : "with " + chosen + ": " + any_of_text(fitting)));
  }
}

const std::vector<Rule>& all_rules() {
  static const std::vector<Rule> rules = {
      {{"train.epochs", "train.steps", "data.repeat"}, check_repeat},
      {{"name"}, check_name},
      {{"train.shards", "cluster.replicas"}, check_replicas},
      {{"cluster.data_ports"}, check_data_ports},
      {{"cluster.min_replicas", "cluster.replicas"}, check_min_replicas},
      {{"train.optimizer.name", "train.optimizer.momentum", "train.optimizer.nesterov"}, check_nesterov},
      {{"train.optimizer.learning_rate.schedule", "train.optimizer.learning_rate.warm_up",
        "train.optimizer.learning_rate.every", "train.optimizer.learning_rate.steps"},
       check_schedule},
      {{"cluster.detect.heartbeat", "cluster.detect.patience"}, check_detect},
      {{"cluster.devices", "cluster.share_devices"}, check_devices},
      {{"cluster.devices", "cluster.replicas"}, check_device_count},
  };
  return rules;
}

}  // namespace

bool is_broken(const BrokenKeys& broken, const std::string& key) {
  if (broken.empty() || key.empty()) {
    return false;
  }
  return broken.contains(key) || is_broken(broken, table_of(key));
}

void check_constraints(const Job& job, const Places& places, const BrokenKeys& broken,
                       std::vector<Mistake>& mistakes) {
  const auto is_judged = [&](const std::vector<std::string>& keys) {
    return std::ranges::none_of(keys, [&](const std::string& key) { return is_broken(broken, key); });
  };
  for (const Exclusion& each : exclusions()) {
    if (is_judged(keys_of(each)) && has_both(job, each)) mistakes.push_back(mistake_of(each, job, places));
  }
  for (const Rule& rule : all_rules()) {
    if (is_judged(rule.keys)) rule.check(job, places, mistakes);
  }
  check_selected(job, places, broken, mistakes);
}

}  // namespace muster
