#include "tests/simulation/cluster.hpp"

#include <algorithm>

#include "muster/actors/run.hpp"
#include "muster/config/job_file.hpp"

namespace muster::simulation {

namespace {

CoordinatorParts coordinator_parts(const Job& job) {
  CoordinatorParts parts;
  parts.job = job;
  parts.job_toml = to_toml(job);
  for (std::uint32_t slot = 0; slot < job.cluster.replicas; ++slot)
    parts.placement.devices.push_back("cpu:0");
  parts.placement.loader_threads = 1;
  return parts;
}

}  // namespace

caf::actor_system_config& Cluster::configured(caf::actor_system_config& config) {
  configure(config);
  config.set("scheduler.policy", caf::atom("testing"));
  return config;
}

Cluster::Cluster(const Job& job, const Registry& registry, const ClusterOptions& options, Watch* watch)
    : job_(job),
      registry_(registry),
      options_(options),
      watch_(watch),
      system_(std::make_unique<caf::actor_system>(configured(config_))) {
  system_->await_actors_before_shutdown(false);
  world_ = std::make_unique<World>(*system_, options.seed);
  network_ = std::make_unique<SimulatedNetwork>(
      [this](Nanoseconds delay, std::function<void()> event) { world_->after(delay, std::move(event)); },
      options.seed, options.network);
  control_ = std::make_unique<ControlNet>(*world_, *system_, options.control);
  if (!watch) return;
  control_->watch(
      [watch](ProcessId from, ProcessId to, const caf::message& m) { watch->sent(from, to, m); },
      [watch](ProcessId from, ProcessId to, const caf::message& m) { watch->delivered(from, to, m); });
  control_->on_mistake = [watch](const std::string& what) { watch->mistake(what); };
}

Cluster::~Cluster() {
  tear_down();
}

void Cluster::start() {
  start_coordinator();
  for (std::uint32_t slot = 0; slot < job_.cluster.replicas; ++slot) start_node({false, slot});
  for (std::uint32_t slot = 0; slot < job_.cluster.loaders; ++slot) start_node({true, slot});
}

void Cluster::start_coordinator() {
  CoordinatorParts parts = coordinator_parts(job_);
  parts.on_end = [this](const Report& report) { report_ = report; };
  parts.on_event = [this](const Event& event) {
    world_->trace(to_json_line(event));
    if (watch_) watch_->event(event);
  };
  coordinator_process_ = world_->add_process(kCoordinator);
  world_->as(coordinator_process_, [&] { coordinator_ = system_->spawn(coordinator, std::move(parts)); });
}

void Cluster::start_node(const NodeName& name) {
  NodeProcess started;
  started.name = name;
  started.process = world_->add_process(name.text());
  started.pid = static_cast<std::int64_t>(nodes_.size()) + 1;
  started.pace = std::make_shared<Pace>(options_.pace);
  const auto incarnation = static_cast<std::uint64_t>(started.pid);
  if (options_.lag_max.count() > 0) world_->set_lag(started.process, options_.lag_max);
  if (watch_) watch_->process_began(started.process, name, incarnation);
  SeamParts seams;
  seams.world = world_.get();
  seams.network = network_.get();
  seams.process = started.process;
  seams.pace = started.pace;
  seams.watch = watch_;
  seams.alive = things_;
  seams.spawn_replica = options_.spawn_replica;
  started.bench = seams.bench;
  const auto link = control_->connect(started.process, coordinator_process_,
                                      caf::actor_cast<caf::strong_actor_ptr>(coordinator_));
  world_->as(started.process, [&] {
    started.actor =
        system_->spawn(node, NodeParts{name, started.pid, incarnation, registry_, simulated_seams(seams),
                                       caf::actor_cast<coordinator_actor>(link)});
  });
  // When its node actor has ended, a process has nothing left to do, and exits.
  caf::actor_cast<caf::abstract_actor*>(started.actor)->attach_functor([this, process = started.process] {
    node_ended(process);
  });
  nodes_.push_back(std::move(started));
}

void Cluster::node_ended(ProcessId process) {
  if (!world_->alive(process)) return;
  control_->ended(process, true);
  network_->cut(world_->name(process));
  world_->end(process);
  if (watch_) watch_->process_ended(process);
}

Cluster::NodeProcess* Cluster::find(const std::string& name) {
  const auto found = std::find_if(nodes_.rbegin(), nodes_.rend(),
                                  [&](const NodeProcess& each) { return each.name.text() == name; });
  return found == nodes_.rend() ? nullptr : &*found;
}

const Cluster::NodeProcess* Cluster::find(const std::string& name) const {
  return const_cast<Cluster*>(this)->find(name);
}

// ---- what can go wrong

void Cluster::crash(const std::string& name, bool told) {
  NodeProcess* who = find(name);
  if (!who || !world_->alive(who->process)) return;
  control_->ended(who->process, told);
  told ? network_->cut(name) : network_->lose(name);
  world_->end(who->process);
  if (watch_) watch_->process_ended(who->process);
  caf::anon_send_exit(who->actor, caf::exit_reason::kill);
}

void Cluster::reap(const std::string& name) {
  const NodeProcess* who = find(name);
  if (!who || !world_->alive(coordinator_process_)) return;
  caf::anon_send(coordinator_, ChildEnded{who->name, who->pid, "was ended by signal 9 (Killed)"});
}

void Cluster::pause(const std::string& name) {
  const NodeProcess* who = find(name);
  if (!who || !world_->alive(who->process)) return;
  network_->pause(name);
  world_->pause(who->process);
}

void Cluster::resume(const std::string& name) {
  const NodeProcess* who = find(name);
  if (!who || !world_->alive(who->process)) return;
  network_->resume(name);
  world_->resume(who->process);
}

void Cluster::disturb_data(const std::string& from, const std::string& to, const Disturbance& disturbance) {
  network_->disturb(from, to, disturbance);
}

void Cluster::disturb_control(const std::string& from, const std::string& to,
                              const Disturbance& disturbance) {
  control_->disturb(from, to, disturbance);
}

void Cluster::sever(const std::string& a, const std::string& b) {
  network_->sever(a, b);
}

void Cluster::set_slower(const std::string& name, double factor) {
  if (NodeProcess* who = find(name)) who->pace->slower = factor;
}

// ---- looking

std::vector<std::string> Cluster::nodes() const {
  std::vector<std::string> names;
  for (const NodeProcess& each : nodes_) names.push_back(each.name.text());
  return names;
}

bool Cluster::alive(const std::string& name) const {
  const NodeProcess* who = find(name);
  return who && world_->alive(who->process);
}

std::size_t Cluster::nodes_alive() const {
  return static_cast<std::size_t>(std::count_if(
      nodes_.begin(), nodes_.end(), [this](const NodeProcess& each) { return world_->alive(each.process); }));
}

void Cluster::end_coordinator() {
  if (!world_->alive(coordinator_process_)) return;
  control_->ended(coordinator_process_, true);
  world_->end(coordinator_process_);
  caf::anon_send_exit(coordinator_, caf::exit_reason::user_shutdown);
}

std::string Cluster::tear_down() {
  if (!system_) return {};
  auto& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system_->scheduler());
  const auto drain = [&] {
    while (scheduler.try_run_once()) {
    }
  };
  end_coordinator();
  for (NodeProcess& each : nodes_) {
    world_->end(each.process);
    caf::anon_send_exit(each.actor, caf::exit_reason::kill);
    each.actor = nullptr;
  }
  coordinator_ = nullptr;
  world_->finish();
  drain();
  control_->close_all();
  drain();
  scheduler.clock().cancel_all();
  drain();
  std::string left;
  const auto expect_none = [&](const std::string& what, std::size_t count) {
    if (count > 0) left += (left.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  };
  expect_none("actors", system_->registry().running());
  expect_none("engines", things_->engines);
  expect_none("proxies", control_->proxies_alive());
  expect_none("workbenches",
              static_cast<std::size_t>(std::count_if(
                  nodes_.begin(), nodes_.end(), [](const NodeProcess& n) { return !n.bench->expired(); })));
  control_.reset();
  network_.reset();
  world_.reset();
  system_.reset();
  return left;
}

}  // namespace muster::simulation
