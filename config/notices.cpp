#include "config/notices.hpp"

#include "base/count_of.hpp"
#include "base/text.hpp"
#include "config/values/address.hpp"
#include "config/values/port_range.hpp"

namespace muster {

namespace {

struct Idle {
  const char* key;
  bool idle;
  const char* why;
  const char* fix = "";
};

// Of the whole training; 0: not known. At least as many as there are, where shards are not alike.
std::uint64_t steps_of(const TrainConfig& train, std::uint64_t samples) {
  if (train.steps) return *train.steps;
  const auto parts = [](std::uint64_t all, std::uint64_t each) {
    return all / each + (all % each > 0 ? 1 : 0);
  };
  return parts(parts(samples, train.shards), train.batch) * train.epochs.value_or(1);
}

}  // namespace

std::vector<std::string> idle_keys(const Job& job, const Places& places, bool has_test, bool may_grow) {
  const bool no_folder = job.checkpoint.folder.empty();
  const bool one = job.cluster.replicas == 1 && !may_grow;
  const char* kNoFolder = "checkpoint.folder is not set";
  const char* kOne = "there is one replica (cluster.replicas)";
  // `muster run`, and no process elsewhere reaches it.
  const bool one_host = !may_grow && is_loopback(job.cluster.listen);
  const bool all_stay = one_host && job.cluster.restart == Restart::never;
  const Idle all[] = {
      {"checkpoint.every", no_folder, kNoFolder},
      {"checkpoint.keep", no_folder, kNoFolder},
      {"checkpoint.grace", no_folder, kNoFolder},
      {"checkpoint.spare_folder", no_folder, kNoFolder},
      {"cluster.restarts", job.cluster.restart == Restart::never, "cluster.restart is \"never\""},
      {"cluster.min_replicas", job.cluster.on_loss == OnLoss::fail,
       "with cluster.on_loss = \"fail\" the first loss ends the run (only replicas that are asked to leave "
       "count)",
       "leave it out, or let the run go on with cluster.on_loss = \"continue\""},
      {"cluster.data_ports", one_host, "`muster run` has all replicas on this host, and they share memory",
       "leave it out; it is for `muster coordinate`"},
      {"cluster.join_share", all_stay, "no replica joins: cluster.restart is \"never\"",
       "leave it out, set cluster.restart = \"on_loss\", or start the run with `muster coordinate`"},
      {"cluster.orphan_after", one_host, "the replicas of `muster run` end with it",
       "leave it out; it is for `muster coordinate`"},
      {"train.wire", one_host && job.train.wire != GradientWire::float32,
       "it saves bytes between hosts, and `muster run` has one (gradients are rounded all the same)",
       "leave it out, unless the run is to have the bits of one on several hosts"},
      {"cluster.on_loader_loss", job.cluster.loaders == 0, "there are no loader processes (cluster.loaders)"},
      {"cluster.share_devices", job.cluster.devices.empty(), "cluster.devices is not set"},
      {"data.threads", job.cluster.loaders > 0, "loader processes read the data (cluster.loaders)"},
      {"reduce.bucket", one, kOne},
      {"reduce.algorithm", one, kOne},
      {"train.evaluate", !has_test && job.train.evaluate, "the source has no test data"},
      {"train.audit", one, kOne},
  };
  std::vector<std::string> notices;
  for (const auto& [key, idle, why, fix] : all) {
    if (!idle || !places.contains(key)) continue;
    notices.push_back(std::string(key) + " has no effect: " + why + (*fix ? std::string("; ") + fix : ""));
  }
  return notices;
}

std::vector<std::string> data_notices(const Job& job, std::uint64_t samples) {
  std::vector<std::string> notices;
  const TrainConfig& train = job.train;
  const std::uint64_t of_step = std::uint64_t{train.shards} * train.batch;
  const std::string epoch = "an epoch has " + std::to_string(samples);
  if (of_step > samples)
    notices.push_back("a step takes " + std::to_string(of_step) + " samples (train.shards " +
                      std::to_string(train.shards) + " x train.batch " + std::to_string(train.batch) + "), " +
                      epoch + ": each epoch is one step");
  if (samples < train.shards)
    notices.push_back("train.shards is " + std::to_string(train.shards) + ", " + epoch +
                      " samples: " + std::to_string(train.shards - samples) + " shards get none");
  return notices;
}

std::vector<std::string> rate_notices(const Job& job, std::uint64_t samples) {
  const ScheduleConfig& rate = job.train.optimizer.learning_rate;
  const std::uint64_t steps = steps_of(job.train, samples);
  if (steps == 0) return {};
  const auto too_long = [&](const char* leaf, std::uint64_t of, const char* what) {
    return std::string("train.optimizer.learning_rate.") + leaf + " is " + count_of(of, "step") +
           ", and the training has " + std::to_string(steps) + ": " + what + "; choose fewer steps";
  };
  std::vector<std::string> notices;
  if (rate.warm_up > steps)
    notices.push_back(too_long("warm_up", rate.warm_up, "the learning rate never reaches its full value"));
  if (rate.kind == ScheduleKind::step && rate.every >= steps)
    notices.push_back(too_long("every", rate.every, "the learning rate never changes"));
  return notices;
}

std::optional<Mistake> mistake_of_data_ports(const Job& job, std::uint16_t port, const Places& places) {
  const PortRange ports = parse_port_range(job.cluster.data_ports).value_or(PortRange{});
  if (port == 0 || ports.any() || port < ports.first || port > ports.last) return std::nullopt;
  return mistake_at(places, "cluster.data_ports", "holds the port of the coordinator",
                    in_quotes(job.cluster.data_ports) + " and port " + std::to_string(port),
                    "a range without that port, or another port for the coordinator");
}

}  // namespace muster
