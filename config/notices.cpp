#include "config/notices.hpp"

namespace muster {

namespace {

struct Idle {
  const char* key;
  bool idle;
  const char* why;
};

}  // namespace

std::vector<std::string> idle_keys(const Job& job, const Places& places, bool has_test, bool may_grow) {
  const bool no_folder = job.checkpoint.folder.empty();
  const bool one = job.cluster.replicas == 1 && !may_grow;
  const char* kNoFolder = "checkpoint.folder is not set";
  const char* kOne = "there is one replica (cluster.replicas)";
  const Idle all[] = {
      {"checkpoint.every", no_folder, kNoFolder},
      {"checkpoint.keep", no_folder, kNoFolder},
      {"checkpoint.grace", no_folder, kNoFolder},
      {"checkpoint.spare_folder", no_folder, kNoFolder},
      {"cluster.restarts", job.cluster.restart == Restart::never, "cluster.restart is \"never\""},
      {"cluster.on_loader_loss", job.cluster.loaders == 0, "there are no loader processes (cluster.loaders)"},
      {"cluster.share_devices", job.cluster.devices.empty(), "cluster.devices is not set"},
      {"data.threads", job.cluster.loaders > 0, "loader processes read the data (cluster.loaders)"},
      {"reduce.bucket", one, kOne},
      {"reduce.algorithm", one, kOne},
      {"train.evaluate", !has_test && job.train.evaluate, "the source has no test data"},
      {"train.audit", one, kOne},
  };
  std::vector<std::string> notices;
  for (const auto& [key, idle, why] : all) {
    if (idle && places.contains(key)) notices.push_back(std::string(key) + " has no effect: " + why);
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

}  // namespace muster
