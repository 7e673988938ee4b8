#include "tests/simulation/cluster.hpp"
#include "tests/support/mounted_disk.hpp"

#include <algorithm>

#include "actors/messages/peer_numbers.hpp"
#include "actors/registry/job_hash.hpp"
#include "muster/job_file.hpp"
#include "muster/run.hpp"
#include "tests/support/late_linear.hpp"

namespace muster::simulation {

namespace {

using std::chrono::milliseconds;

constexpr const char* kKilled = "was ended by signal 9 (Killed)";

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
  if (options.gpus) registry_.add_model("linear", linear_options(), testing::make_late_linear);
  shared_registry_ = std::make_shared<const Registry>(registry_);
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
  std::size_t number = 0;
  const auto start = [&](const NodeName& name) {
    const auto& after = options_.come_after;
    const Nanoseconds wait = options_.by_hand && number < after.size() ? after[number] : Nanoseconds(0);
    ++number;
    if (wait.count() == 0) return start_node(name, options_.by_hand, {});
    if (wait.count() > 0) world_->after(wait, [this, name] { start_node(name, true, {}); });
  };
  for (std::uint32_t slot = 0; slot < job_.cluster.replicas; ++slot) start({false, slot});
  for (std::uint32_t slot = 0; slot < job_.cluster.loaders; ++slot) start({true, slot});
}

// ---- a node's process

SeamSetup Cluster::seams_of(const NodeProcess& started) {
  SeamSetup seams;
  seams.world = world_.get();
  seams.network = network_.get();
  seams.process = started.process;
  seams.pace = started.pace;
  seams.frozen = started.frozen;
  seams.watch = watch_;
  seams.alive = things_;
  seams.show_frames = options_.show_frames;
  seams.gpus = options_.gpus;
  seams.carries_gpu_memory = options_.gpus && options_.carries_gpu_memory;
  if (options_.disk) seams.disk = mounted(started.blind, away_from_nodes_);
  seams.spare = options_.spare ? options_.spare : seams.disk;
  seams.spawn_replica = options_.spawn_replica;
  seams.named = [this, process = started.process](const NodeName& name) { named(process, name); };
  seams.trainer = started.trainer;
  seams.arrivals = started.arrivals;
  seams.bits = started.bits;
  return seams;
}

NodeSetup Cluster::setup_of(const NodeProcess& started, const caf::strong_actor_ptr& link) {
  NodeSetup setup;
  setup.host = "simulated";
  setup.cores = 4;
  setup.name = started.node;
  setup.pid = started.pid;
  setup.incarnation = setup.launched = started.number;
  setup.joins = started.joins;
  auto registry = std::make_shared<Registry>(*shared_registry_);
  if (!options_.gpus) {
    registry->add_model("linear", linear_options(),
                        [bits = started.bits](const Options& options, const ModelContext& context) {
                          return make_odd_linear(bits, options, context);
                        });
  }
  setup.registry = with_errors(registry, started.errors);
  setup.seams = simulated_seams(seams_of(started));
  setup.coordinator = caf::actor_cast<coordinator_actor>(link);
  setup.on_stop = [this, stop = started.stop, process = started.process](const Stop& message) {
    *stop = message;
    if (message.good && message.keep && watch_) watch_->keeps_alone(process);  // nobody let it go
  };
  if (!started.joins) return setup;
  setup.on_orphaned = [this, process = started.process](milliseconds of_job) {
    at(process).orphan_since = world_->now();
    at(process).orphan_after = of_job;
    look_for_coordinator(process);
  };
  return setup;
}

// As `muster join` does: it tries until there is a coordinator that can be reached.
void Cluster::start_node(const NodeName& name, bool joins, Nanoseconds back_off, const Oddity& oddity) {
  constexpr auto kConnectAgain = milliseconds(200);
  if (over_) return;
  NodeProcess started;
  started.number = nodes_.size() + 1;
  started.pid = static_cast<std::int64_t>(started.number + 1) / 2;
  started.errors = std::make_shared<PlantedErrors>();
  started.errors->cursed = cursed_;
  started.errors->spoiled = spoiled_;
  started.errors->unlike = oddity.unlike;
  started.errors->no_data = oddity.no_data;
  started.walled_from = oddity.walled_from;
  started.arrivals->twice = joins && newcomers_hear_twice_;
  started.node = joins ? NodeName{name.loader, 0} : name;
  started.name = joins ? "newcomer " + std::to_string(started.number) : name.text();
  if (!coordinator_reachable()) {
    return world_->after(
        kConnectAgain, [this, name, joins, back_off, oddity] { start_node(name, joins, back_off, oddity); });
  }
  started.process = world_->add_process(started.name);
  started.joins = joins;
  started.back_off = back_off;
  started.pace = std::make_shared<Pace>(options_.pace);
  started.trainer = std::make_shared<std::weak_ptr<TrainerState>>();
  if (options_.lag_max.count() > 0) world_->set_lag(started.process, options_.lag_max);
  if (watch_) watch_->process_began(started.process, started.node, started.number);
  const auto link = control_->connect(started.process, coordinator_process_,
                                      caf::actor_cast<caf::strong_actor_ptr>(coordinator_));
  nodes_.push_back(started);
  world_->as(started.process, [&] { nodes_.back().actor = system_->spawn(node, setup_of(started, link)); });
  // When its node actor has ended, a process has nothing left to do, and exits.
  caf::actor_cast<caf::abstract_actor*>(nodes_.back().actor)
      ->attach_functor([this, process = started.process] { node_ended(process); });
}

void Cluster::named(ProcessId process, const NodeName& name) {
  NodeProcess& who = at(process);
  who.node = name;
  who.attached = true;
  if (who.name == name.text()) return;
  who.name = name.text();
  world_->rename(process, who.name);
  cut_off_by_its_new_name(who.name);
  build_wall(who);
  if (watch_) watch_->process_named(process, name);
}

// They are never mended.
constexpr std::uint64_t kWalls = ~0ull;

// The network tells a node its address after its name. Within a host no wall is.
void Cluster::build_wall(const NodeProcess& who) {
  const auto host = [](const std::string& name) { return simulated_host(name + "#1"); };
  if (who.walled_from.empty() || host(who.name) == host(who.walled_from)) return;
  const Disturbance wall{.blocked = true, .times_out = false};
  const std::uint64_t before = fault_;
  on_behalf_of(kWalls);
  disturb_data(who.name, who.walled_from, wall);
  disturb_data(who.walled_from, who.name, wall);
  on_behalf_of(before);
}

void Cluster::look_for_coordinator(ProcessId process) {
  constexpr auto kLookAgain = milliseconds(200);
  NodeProcess& who = at(process);
  if (!world_->alive(process) || !who.orphan_since) return;
  if (world_->now() - *who.orphan_since >= who.orphan_after) {
    if (watch_) watch_->keeps_alone(process);
    return caf::anon_send(who.actor,
                          Stop{false, "the coordinator was gone for longer than orphan_after", false, true});
  }
  if (!coordinator_reachable() || control_->blocked(process, coordinator_process_)) {
    return world_->after(process, kLookAgain, [this, process] { look_for_coordinator(process); });
  }
  who.orphan_since.reset();
  const auto link =
      control_->connect(process, coordinator_process_, caf::actor_cast<caf::strong_actor_ptr>(coordinator_));
  caf::anon_send(who.actor, NewCoordinator{caf::actor_cast<coordinator_actor>(link)});
}

void Cluster::node_ended(ProcessId process) {
  if (!world_->alive(process)) return;
  control_->ended(process, true);
  if (at(process).attached) network_->cut(world_->name(process));
  world_->end(process);
  if (watch_) watch_->process_ended(process);
  NodeProcess& who = at(process);
  reap_soon(who, "has ended with code 0");
  if (who.stop->good || !who.stop->again || !who.joins) return;
  const Nanoseconds wait = std::max<Nanoseconds>(who.back_off, milliseconds(500));
  const Nanoseconds next = std::min<Nanoseconds>(2 * wait, milliseconds(10000));
  world_->after(wait, [this, name = who.node, next] { start_node(name, true, next); });
}

Cluster::NodeProcess* Cluster::find(const std::string& name) {
  const auto found = std::find_if(nodes_.rbegin(), nodes_.rend(),
                                  [&](const NodeProcess& each) { return each.name == name; });
  return found == nodes_.rend() ? nullptr : &*found;
}

const Cluster::NodeProcess* Cluster::find(const std::string& name) const {
  return const_cast<Cluster*>(this)->find(name);
}

Cluster::NodeProcess& Cluster::at(ProcessId process) {
  return *std::find_if(nodes_.begin(), nodes_.end(),
                       [&](const NodeProcess& each) { return each.process == process; });
}

// ---- what can go wrong

void Cluster::crash(const std::string& name, bool told) {
  NodeProcess* who = find(name);
  if (!who || !world_->alive(who->process)) return;
  control_->ended(who->process, told);
  if (who->attached) told ? network_->cut(name) : network_->lose(name);
  world_->end(who->process);
  if (watch_) watch_->process_ended(who->process);
  caf::anon_send_exit(who->actor, caf::exit_reason::kill);
  if (told) reap_soon(*who, kKilled);
}

void Cluster::reap(const std::string& name) {
  if (NodeProcess* who = find(name)) told_of_end(*who, kKilled);
}

// The kernel tells its parent a moment later that a child has ended; now and then that gets no core for long.
void Cluster::reap_soon(NodeProcess& who, const std::string& how) {
  if (!options_.reaps || options_.by_hand) return;
  const bool late = world_->below(8) == 0;
  who.reaped_after = world_->up_to(late ? milliseconds(3000) : milliseconds(100));
  world_->after(coordinator_process_, *who.reaped_after,
                [this, process = who.process, how] { told_of_end(at(process), how); });
}

void Cluster::told_of_end(NodeProcess& who, const std::string& how) {
  if (coordinator_alive() && !std::exchange(who.reaped, true))
    caf::anon_send(coordinator_, ChildEnded{who.node, who.pid, who.number, how});
}

void Cluster::pause(const std::string& name) {
  if (name == kCoordinator && coordinator_alive()) {
    paused_coordinators_.push_back(coordinator_process_);
    return world_->pause(coordinator_process_);
  }
  const NodeProcess* who = find(name);
  if (!who || !world_->alive(who->process)) return;
  network_->pause(name);
  world_->pause(who->process);
}

void Cluster::suspend() {
  suspended_ = true;
  for (const std::string& name : nodes()) pause(name);
  pause(kCoordinator);
}

void Cluster::wake() {
  suspended_ = false;
  for (const std::string& name : nodes()) resume(name);
  resume(kCoordinator);
  for (const auto& action : std::exchange(on_wake_, {})) action();
}

void Cluster::when_awake(std::function<void()> action) {
  if (suspended_) return on_wake_.push_back(std::move(action));
  action();
}

void Cluster::resume(const std::string& name) {
  if (suspended_) return;  // it wakes with all
  if (name == kCoordinator) {
    for (const ProcessId process : std::exchange(paused_coordinators_, {})) {
      if (world_->alive(process)) world_->resume(process);
    }
    return;
  }
  const NodeProcess* who = find(name);
  if (!who || !world_->alive(who->process)) return;
  if (!who->frozen->stands_still(kProgressThread)) network_->resume(name);
  // It may go on for some time before it hears what has become of it.
  if (options_.network.supports_borrowing)
    control_->deaf_for(who->process, world_->up_to(std::chrono::milliseconds(10)));
  world_->resume(who->process);
}

// What is wrong with a way while several faults of it last.
Disturbance Cluster::Paths::set(const std::string& from, const std::string& to, std::uint64_t fault,
                                const Disturbance& disturbance) {
  auto& faults = paths_[{from, to}];
  if (disturbance.none())
    faults.erase(fault);
  else
    faults[fault] = disturbance;
  Disturbance all;
  for (const auto& [number, one] : faults) {
    all.blocked |= one.blocked;
    all.slower = std::max(all.slower, one.slower);
    all.loss = std::max(all.loss, one.loss);
    all.loses_loading = std::max(all.loses_loading, one.loses_loading);
    all.times_out = all.times_out && one.times_out;
  }
  return all;
}

void Cluster::disturb_data(const std::string& from, const std::string& to, const Disturbance& disturbance) {
  network_->disturb(from, to, data_paths_.set(from, to, fault_, disturbance));
}

void Cluster::disturb_control(const std::string& from, const std::string& to,
                              const Disturbance& disturbance) {
  control_->disturb(from, to, control_paths_.set(from, to, fault_, disturbance));
}

void Cluster::sever(const std::string& a, const std::string& b) {
  network_->sever(a, b);
}

void Cluster::set_slower(const std::string& name, double factor) {
  if (NodeProcess* who = find(name)) who->pace->slower = factor;
}

std::shared_ptr<PlantedErrors> Cluster::errors_of(const std::string& name) {
  const NodeProcess* who = find(name);
  return who ? who->errors : nullptr;
}

void Cluster::deafen(const std::string& name) {
  if (NodeProcess* who = find(name)) who->arrivals->deaf = true;
}

void Cluster::repeat_frames(const std::string& at, const std::string& from, bool twice) {
  const NodeProcess* other = find(from);
  if (NodeProcess* who = find(at); who && other) who->arrivals->of[peer_of(other->node)].twice = twice;
}

void Cluster::damage_frame(const std::string& at, const std::string& from, std::uint64_t bit) {
  const NodeProcess* other = find(from);
  NodeProcess* who = find(at);
  if (!who || !other) return;
  who->arrivals->of[peer_of(other->node)].flips = bit;
  who->arrivals->breaks = [this, at](PeerId peer) {
    world_->after(Nanoseconds(0), [this, at, peer] { network_->sever(at, name_of(peer).text()); });
  };
}

void Cluster::freeze(const std::string& name, const std::string& thread) {
  const NodeProcess* who = find(name);
  if (!who || !world_->alive(who->process)) return;
  who->frozen->freeze(thread);
  if (thread == kProgressThread) network_->pause(name);
}

void Cluster::thaw(const std::string& name, const std::string& thread) {
  const NodeProcess* who = find(name);
  if (!who || !world_->alive(who->process)) return;
  if (thread == kProgressThread && !world_->paused(who->process)) network_->resume(name);
  for (auto& action : who->frozen->thaw(thread))
    world_->after(who->process, Nanoseconds(0), std::move(action));
}

bool Cluster::stands_still(const std::string& name, const std::string& thread) const {
  const NodeProcess* who = find(name);
  return who && who->frozen->stands_still(thread);
}

void Cluster::ask_to_leave(const std::string& name) {
  const NodeProcess* who = find(name);
  if (!who || !world_->alive(who->process)) return;
  caf::anon_send(who->actor, Leaving{{}, "SIGTERM"});
  if (watch_) watch_->asked_to_go(who->process);
}

void Cluster::ask_to_end() {
  if (coordinator_alive()) caf::anon_send(coordinator_, StopRequest{"SIGTERM"});
}

void Cluster::blind(const std::string& name, bool is_blind) {
  if (NodeProcess* who = find(name)) *who->blind = is_blind;
}

std::shared_ptr<Disk> Cluster::mounted(std::shared_ptr<const bool> blind,
                                       std::shared_ptr<const Away> away) const {
  return std::make_shared<MountedDisk>(options_.disk, std::move(blind), std::move(away));
}

void Cluster::flip_bit(const std::string& name, WrongBits::Flip what, std::uint64_t chosen) {
  NodeProcess* who = find(name);
  if (!who) return;
  who->bits->flip = what;
  who->bits->chosen = chosen;
  who->bits->flipped = [this, process = who->process] {
    if (watch_) watch_->flipped(process);
  };
}

void Cluster::make_odd(const std::string& name, bool by_much, bool at_times) {
  NodeProcess* who = find(name);
  if (!who) return;
  who->bits->odd = by_much ? WrongBits::kMuch : WrongBits::kUlp;
  who->bits->at_times = at_times;
  if (watch_) watch_->computes_odd(who->process, at_times);
}

void Cluster::join(bool loader) {
  start_node({loader, 0}, true, {});
}

void Cluster::join_hearing_twice() {
  newcomers_hear_twice_ = true;
  start_node({false, 0}, true, {});
}

void Cluster::join_unlike() {
  start_node({false, 0}, true, {}, {.unlike = true});
}

void Cluster::join_without_data() {
  start_node({false, 0}, true, {}, {.no_data = true});
}

void Cluster::join_walled_from(const std::string& name) {
  start_node({false, 0}, true, {}, {.walled_from = name});
}

}  // namespace muster::simulation
