#include "config/placement.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

Job job_with(std::uint32_t replicas, std::vector<std::string> devices = {}) {
  Job job;
  job.train.shards = 64;
  job.cluster.replicas = replicas;
  job.cluster.devices = std::move(devices);
  return job;
}

Inventory cores(int count) {
  Inventory inventory;
  for (int core = 0; core < count; ++core) {
    inventory.cores.push_back(core);
  }
  inventory.cuda_reason = "no CUDA driver";
  return inventory;
}

const Places kPlaces = {{"", {"job.toml", 1, 1, {}}},
                        {"cluster.devices", {"job.toml", 8, 11, {}}},
                        {"cluster.devices[1]", {"job.toml", 8, 21, {}}},
                        {"train.threads", {"job.toml", 5, 11, {}}}};

Placement placed(const Job& job, const Inventory& inventory) {
  std::vector<Mistake> mistakes;
  Placement placement = place_devices(job, inventory, kPlaces, mistakes);
  EXPECT_EQ(render(mistakes), "");
  return placement;
}

std::string mistakes_of(const Job& job, const Inventory& inventory) {
  std::vector<Mistake> mistakes;
  place_devices(job, inventory, kPlaces, mistakes);
  return render(mistakes);
}

TEST(PlaceShards, ContiguousAndEven) {
  EXPECT_EQ(place_shards(8, 2), (std::vector<ShardInterval>{{0, 4}, {4, 8}}));
  EXPECT_EQ(place_shards(5, 3), (std::vector<ShardInterval>{{0, 2}, {2, 4}, {4, 5}}));
  EXPECT_EQ(place_shards(1, 1), (std::vector<ShardInterval>{{0, 1}}));
  for (std::uint32_t shards = 1; shards <= 40; ++shards) {
    for (std::uint32_t replicas = 1; replicas <= shards; ++replicas) {
      std::uint32_t next = 0;
      std::uint32_t last_size = shards;
      for (const ShardInterval& interval : place_shards(shards, replicas)) {
        EXPECT_EQ(interval.begin, next);
        EXPECT_LE(interval.end - interval.begin, last_size);
        EXPECT_GE(interval.end - interval.begin, shards / replicas);
        last_size = interval.end - interval.begin;
        next = interval.end;
      }
      EXPECT_EQ(next, shards);
    }
  }
}

TEST(PlaceDevices, CoresInTurnWithANoticeWhenShared) {
  EXPECT_EQ(placed(job_with(2), cores(2)).devices, (std::vector<std::string>{"cpu:0", "cpu:1"}));
  EXPECT_TRUE(placed(job_with(2), cores(2)).notices.empty());
  const Placement shared = placed(job_with(4), cores(2));
  EXPECT_EQ(shared.devices, (std::vector<std::string>{"cpu:0", "cpu:1", "cpu:0", "cpu:1"}));
  EXPECT_EQ(shared.notices, std::vector<std::string>{"4 replicas share 2 cores"});
  EXPECT_EQ(placed(job_with(2), cores(1)).notices, std::vector<std::string>{"2 replicas share 1 core"});
}

TEST(PlaceDevices, ThreadsNeverExceedTheCores) {
  for (int count = 1; count <= 9; ++count) {
    for (std::uint32_t replicas = 1; replicas <= 9; ++replicas) {
      const Placement placement = placed(job_with(replicas), cores(count));
      EXPECT_EQ(placement.compute_threads, replicas);
      if (replicas > static_cast<std::uint32_t>(count)) {
        EXPECT_EQ(placement.loader_threads, 0u);
      } else {
        EXPECT_LE(placement.compute_threads + placement.loader_threads, static_cast<std::uint32_t>(count));
      }
    }
  }
  EXPECT_EQ(placed(job_with(2), cores(2)).loader_threads, 0u);
  EXPECT_EQ(placed(job_with(2), cores(4)).loader_threads, 2u);
}

TEST(PlaceDevices, TheJobMayAskForMoreThreads) {
  Job job = job_with(2);
  job.data.threads = 2;
  const Placement placement = placed(job, cores(2));
  EXPECT_EQ(placement.loader_threads, 4u);
  EXPECT_EQ(placement.notices,
            std::vector<std::string>{"2 compute threads and 4 loader threads share 2 cores"});
}

TEST(PlaceDevices, ReplicasNeedNoLoaderThreadBesideLoaderProcesses) {
  Job job = job_with(2);
  job.cluster.loaders = 1;
  EXPECT_EQ(placed(job, cores(8)).loader_threads, 1u);
}

TEST(PlaceDevices, MoreComputeThreadsThanCoresIsAMistake) {
  Job job = job_with(2);
  job.train.threads = 2;
  EXPECT_EQ(mistakes_of(job, cores(4)), "");
  EXPECT_EQ(
      mistakes_of(job, cores(3)),
      "job.toml:5:11: train.threads: more compute threads than cores; found 2 replicas with 2 threads each; "
      "allowed: at most 1 on 3 cores; did you mean 1?\n");
}

TEST(PlaceDevices, ADeviceThatIsNotThereNamesThoseThatAre) {
  EXPECT_EQ(mistakes_of(job_with(2, {"cpu:0", "cpu:10"}), cores(2)),
            "job.toml:8:21: cluster.devices[1]: a device that is not there; found \"cpu:10\"; allowed: this "
            "node has "
            "cpu:0, cpu:1; did you mean \"cpu:0\"?\n");
  EXPECT_EQ(mistakes_of(job_with(2, {"cpu:0", "cuda:10"}), cores(2)),
            "job.toml:8:21: cluster.devices[1]: a device that is not there (no CUDA driver); found "
            "\"cuda:10\"; allowed: "
            "this node has cpu:0, cpu:1; did you mean \"cpu:0\"?\n");
}

TEST(PlaceDevices, GpusAreCounted) {
  Inventory inventory = cores(64);
  inventory.cuda_devices = 2;
  inventory.cuda_reason.clear();
  EXPECT_EQ(placed(job_with(2, {"cuda:1", "cuda:0"}), inventory).devices,
            (std::vector<std::string>{"cuda:1", "cuda:0"}));
  EXPECT_EQ(mistakes_of(job_with(2, {"cuda:0", "cuda:2"}), inventory),
            "job.toml:8:21: cluster.devices[1]: a device that is not there; found \"cuda:2\"; allowed: this "
            "node has "
            "cpu:0 to cpu:63, cuda:0, cuda:1; did you mean \"cuda:0\"?\n");
}

TEST(SharesOutCores, AmongSeveralReplicasWhereTheJobSaysNothingElse) {
  EXPECT_TRUE(shares_out_cores(job_with(2)));
  EXPECT_FALSE(shares_out_cores(job_with(1)));
  EXPECT_FALSE(shares_out_cores(job_with(2, {"cpu:1", "cpu:0"})));
  Job job = job_with(2);
  job.cluster.loaders = 1;
  EXPECT_FALSE(shares_out_cores(job));
  job.cluster.loaders = 0;
  job.cluster.bind_cores = false;
  EXPECT_FALSE(shares_out_cores(job));
}

}  // namespace
}  // namespace muster
