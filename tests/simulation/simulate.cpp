#include "tests/simulation/simulate.hpp"

namespace muster::simulation {

namespace {

struct EventWatch final : Watch {
  explicit EventWatch(const SimulationOptions& given) : options(given) {}
  void event(const Event& event) override {
    if (options.on_event) {
      options.on_event(event, [this](const std::string& name) { cluster->crash(name, true); });
    }
  }
  const SimulationOptions& options;
  Cluster* cluster = nullptr;
};

}  // namespace

SimulationResult simulate(const Job& job, const Registry& registry, const SimulationOptions& options) {
  ClusterOptions of_cluster;
  of_cluster.seed = options.seed;
  of_cluster.pace.compute_max = options.compute_max;
  of_cluster.pace.loading_max = options.loading_max;
  of_cluster.pace.disk_max = options.disk_max;
  of_cluster.disk = options.disk;
  of_cluster.resume = options.resume;
  of_cluster.gpus = of_cluster.carries_gpu_memory = options.gpus;
  of_cluster.spawn_replica = options.spawn_replica;
  EventWatch watch(options);
  Job of_run = job;
  of_run.reduce.gpu_direct = options.gpus;
  Cluster cluster(of_run, registry, of_cluster, &watch);
  watch.cluster = &cluster;
  cluster.start();
  World& world = cluster.world();
  for (const Loss& loss : options.losses) {
    world.after(loss.when, [&cluster, who = loss.node] { cluster.crash(who, true); });
  }
  while (!cluster.report() && world.now() <= options.time_max && cluster.step()) {
  }
  return {cluster.report(), world.hash(), world.deliveries(), world.now()};
}

}  // namespace muster::simulation
