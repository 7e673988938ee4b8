#include "tests/simulation/simulated_cluster.hpp"

#include <deque>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include "muster/actors/coordinator.hpp"
#include "muster/actors/node.hpp"
#include "muster/actors/run.hpp"
#include "muster/config/job_file.hpp"
#include "muster/transport/simulated/network.hpp"

namespace muster::simulation {

struct Timed {
  std::shared_ptr<std::function<void()>> action;
};

}  // namespace muster::simulation

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(muster::simulation::Timed)

namespace muster::simulation {

namespace {

// Virtual time, as everything outside the actors sees it: later events, in order, with a trace of what
// happened when.
class World {
 public:
  World(caf::actor_system& system, std::uint64_t seed) : random(seed), system_(system) {
    // With an argument that nobody needs: without any, CAF 0.17.6 binds a reference to null, which UBSan
    // reports.
    const auto run_timed = [](caf::event_based_actor*, int) -> caf::behavior {
      return {[](const Timed& timed) { (*timed.action)(); }};
    };
    timer_ = system.spawn(run_timed, 0);
  }
  ~World() { caf::anon_send_exit(timer_, caf::exit_reason::user_shutdown); }

  void after(std::chrono::nanoseconds delay, std::function<void()> event) {
    auto traced = [this, number = ++events_, event = std::move(event)] {
      trace(number);
      trace(static_cast<std::uint64_t>(now().count()));
      event();
    };
    caf::delayed_anon_send(timer_, delay, Timed{std::make_shared<std::function<void()>>(std::move(traced))});
  }

  std::chrono::nanoseconds now() const { return system_.clock().now().time_since_epoch(); }
  void trace(std::uint64_t word) { hash = (hash ^ word) * 0x100000001b3ull; }
  std::chrono::nanoseconds up_to(std::chrono::nanoseconds most) {
    return std::chrono::nanoseconds(
        1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most.count())));
  }

  std::mt19937_64 random;
  std::uint64_t hash = 0xcbf29ce484222325ull;

 private:
  caf::actor_system& system_;
  caf::actor timer_;
  std::uint64_t events_ = 0;
};

// Jobs one after the other, each after a seeded time of virtual work.
class SimulatedExecutor final : public Executor {
 public:
  SimulatedExecutor(World& world, std::chrono::nanoseconds most) : world_(world), most_(most) {}

  void submit(std::function<void()> job) override {
    queue_->push_back(std::move(job));
    if (queue_->size() == 1) schedule();
  }

 private:
  using Queue = std::deque<std::function<void()>>;

  void schedule() {
    world_.after(world_.up_to(most_), [this, alive = std::weak_ptr<Queue>(queue_)] {
      const auto queue = alive.lock();
      if (!queue || queue->empty()) return;
      queue->front()();
      queue->pop_front();
      if (!queue->empty()) schedule();
    });
  }

  World& world_;
  std::chrono::nanoseconds most_;
  std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();
};

// The production engine over the simulated network. Commands run in order, each after a moment.
class SimulatedDataPlane final : public DataPlane {
 public:
  SimulatedDataPlane(World& world, SimulatedNetwork& network, const std::string& name, Engine::Hooks hooks)
      : world_(world),
        transport_(network.attach(name)),
        engine_(std::make_shared<Engine>(*transport_, std::move(hooks))) {}

  void post(std::function<void(Engine&)> command) override {
    commands_->push_back(std::move(command));
    world_.after(std::chrono::microseconds(1),
                 [commands = commands_, alive = std::weak_ptr<Engine>(engine_)] {
                   const auto engine = alive.lock();
                   if (!engine) return;
                   const auto next = std::move(commands->front());
                   commands->pop_front();
                   next(*engine);
                 });
  }

  std::string address() const override { return transport_->address(); }
  std::string describe() const override { return transport_->describe(); }

 private:
  World& world_;
  std::unique_ptr<Transport> transport_;
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<std::deque<std::function<void(Engine&)>>> commands_ =
      std::make_shared<std::deque<std::function<void(Engine&)>>>();
};

NodeSeams simulated_seams(World& world, SimulatedNetwork& network, const SimulationOptions& options) {
  NodeSeams seams;
  seams.make_executor = [&world, options](const std::string& thread, const std::string&) {
    const auto most = thread == "muster-load"   ? options.loading_max
                      : thread == "muster-disk" ? options.disk_max
                                                : options.compute_max;
    return std::make_shared<SimulatedExecutor>(world, most);
  };
  seams.make_data_plane = [&world, &network](const Job&, const NodeName& name, Engine::Hooks hooks) {
    return std::make_shared<SimulatedDataPlane>(world, network, name.text(), std::move(hooks));
  };
  seams.spawn_replica = options.spawn_replica;
  seams.open_disk = [disk = options.disk](const std::string&) { return disk; };
  return seams;
}

CoordinatorParts coordinator_parts(const Job& job) {
  CoordinatorParts parts;
  parts.job = job;
  parts.job_toml = to_toml(job);
  for (std::uint32_t slot = 0; slot < job.cluster.replicas; ++slot)
    parts.placement.devices.push_back("cpu:0");
  parts.placement.loader_threads = 1;
  return parts;
}

// Delivers one message at a time to a seeded choice of the actors that have one; when none has, time goes on.
void run_until(caf::scheduler::test_coordinator& scheduler, World& world, SimulationResult& result,
               std::chrono::nanoseconds time_max, const std::function<bool()>& over) {
  while (!over()) {
    if (scheduler.jobs.empty()) {
      if (world.now() > time_max || !scheduler.trigger_timeout()) return;
      continue;
    }
    const auto chosen = static_cast<std::ptrdiff_t>(world.random() % scheduler.jobs.size());
    std::swap(scheduler.jobs[0], scheduler.jobs[static_cast<std::size_t>(chosen)]);
    world.trace(static_cast<std::uint64_t>(chosen));
    scheduler.try_run_once();
    ++result.deliveries;
  }
}

}  // namespace

SimulationResult simulate(const Job& job, const Registry& registry, const SimulationOptions& options) {
  caf::actor_system_config config;
  configure(config);
  config.set("scheduler.policy", caf::atom("testing"));
  caf::actor_system system(config);
  system.await_actors_before_shutdown(false);
  auto& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());

  SimulationResult result;
  {
    World world(system, options.seed);
    SimulatedNetwork network([&world](std::chrono::nanoseconds delay,
                                      std::function<void()> event) { world.after(delay, std::move(event)); },
                             options.seed);
    CoordinatorParts parts = coordinator_parts(job);
    if (options.resume) parts.resume = find_resume(job, registry, options.disk);
    parts.on_end = [&](const Report& report) { result.report = report; };
    parts.on_event = [&](const Event& event) {
      for (const char c : to_json_line(event)) world.trace(static_cast<unsigned char>(c));
      if (options.on_event) options.on_event(event, [&](const std::string& name) { network.cut(name); });
    };
    const auto actor = system.spawn(coordinator, std::move(parts));
    std::vector<node_actor> nodes;
    const auto add = [&](bool loader, std::uint32_t slot) {
      const std::uint64_t number = nodes.size() + 1;
      NodeParts parts;
      parts.name = {loader, slot};
      parts.pid = static_cast<std::int64_t>(number);
      parts.incarnation = number;
      parts.registry = registry;
      parts.seams = simulated_seams(world, network, options);
      parts.coordinator = actor;
      nodes.push_back(system.spawn(node, std::move(parts)));
    };
    for (std::uint32_t slot = 0; slot < job.cluster.replicas; ++slot) add(false, slot);
    for (std::uint32_t slot = 0; slot < job.cluster.loaders; ++slot) add(true, slot);

    for (const Loss& loss : options.losses) {
      world.after(loss.when, [&, who = loss.node] {
        for (std::size_t i = 0; i < nodes.size(); ++i) {
          const NodeName name{
              i >= job.cluster.replicas,
              static_cast<std::uint32_t>(i >= job.cluster.replicas ? i - job.cluster.replicas : i)};
          if (name.text() != who) continue;
          network.cut(who);
          caf::anon_send_exit(nodes[i], caf::exit_reason::kill);
        }
      });
    }
    run_until(scheduler, world, result, options.time_max, [&] { return result.report.has_value(); });
    result.trace_hash = world.hash;
    result.virtual_time = world.now();
    for (const auto& each : nodes) caf::anon_send_exit(each, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    while (scheduler.try_run_once()) {
    }
  }
  while (scheduler.try_run_once()) {
  }
  return result;
}

}  // namespace muster::simulation
