#include "muster/actors/run.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <mutex>

#include <caf/io/all.hpp>

#include "muster/actors/children.hpp"
#include "muster/actors/node.hpp"
#include "muster/actors/preflight.hpp"
#include "muster/config/job_file.hpp"
#include "muster/transport/ucx/ucx_transport.hpp"

namespace muster {

namespace {

constexpr auto kPartingGood = std::chrono::milliseconds(2000);
constexpr auto kPartingBad = std::chrono::milliseconds(300);

// The coordinator's last word, handed to the waiting thread.
class Ending {
 public:
  Ending() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Ending() { ::close(descriptor_); }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;

  void set(const Report& report) {
    {
      std::lock_guard lock(mutex_);
      report_ = report;
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof one);
  }
  std::optional<Report> get() const {
    std::lock_guard lock(mutex_);
    return report_;
  }
  int descriptor() const { return descriptor_; }

 private:
  mutable std::mutex mutex_;
  std::optional<Report> report_;  // guarded by mutex_
  const int descriptor_;
};

// SIGINT and SIGTERM as a descriptor, as long as this lives. A handler and a pipe, not a signalfd: libraries
// start threads of their own while they are loaded, in which the signals are not blocked.
class Signals {
 public:
  explicit Signals(bool wanted) {
    if (!wanted) return;
    if (::pipe2(pipe_, O_CLOEXEC | O_NONBLOCK) != 0)
      throw Error(Advice::give_up, "no descriptor is left for signals");
    pipe_end_.store(pipe_[1]);
    struct sigaction action {};
    action.sa_handler = [](int signal) {
      const auto byte = static_cast<unsigned char>(signal);
      [[maybe_unused]] const auto written = ::write(pipe_end_.load(), &byte, 1);
    };
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGINT, &action, &before_[0]);
    ::sigaction(SIGTERM, &action, &before_[1]);
  }
  ~Signals() {
    if (descriptor() < 0) return;
    ::sigaction(SIGINT, &before_[0], nullptr);
    ::sigaction(SIGTERM, &before_[1], nullptr);
    ::close(pipe_[0]);
    ::close(pipe_[1]);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int descriptor() const { return pipe_[0]; }
  int take() {
    unsigned char signal = 0;
    return descriptor() >= 0 && ::read(descriptor(), &signal, 1) == 1 ? signal : 0;
  }

 private:
  static inline std::atomic<int> pipe_end_{-1};  // a handler reaches nothing else
  struct sigaction before_[2]{};
  int pipe_[2] = {-1, -1};
};

std::vector<NodeName> node_names(const Job& job) {
  std::vector<NodeName> names;
  for (std::uint32_t slot = 0; slot < job.cluster.replicas; ++slot) names.push_back({false, slot});
  for (std::uint32_t slot = 0; slot < job.cluster.loaders; ++slot) names.push_back({true, slot});
  return names;
}

std::uint16_t publish(caf::actor_system& system, const coordinator_actor& coordinator, const Job& job) {
  const auto port = system.middleman().publish(coordinator, 0, job.cluster.listen.c_str());
  if (!port) {
    throw JobRefused(
        {mistake_at({}, "cluster.listen", "cannot listen on this address: " + system.render(port.error()),
                    job.cluster.listen, "an address of this machine")});
  }
  return *port;
}

void start_processes(Children& children, const Job& job, const RunOptions& options, std::uint16_t port) {
  for (const NodeName& name : node_names(job)) {
    std::vector<std::string> command = options.node_command;
    if (command.empty()) command = {this_executable(), "node"};
    const auto arguments = to_arguments({job.cluster.listen, port, name, ::getpid()});
    command.insert(command.end(), arguments.begin(), arguments.end());
    children.start(name, command);
  }
}

// Replicas and loaders within this process. All have let go of what they hold when this object is gone.
class InProcessNodes {
 public:
  InProcessNodes(caf::actor_system& system, const Job& job, const RunOptions& options,
                 const coordinator_actor& coordinator)
      : self_(system) {
    for (const NodeName& name : node_names(job)) {
      auto actor = system.spawn(
          node, NodeParts{name, ::getpid(), new_incarnation(), options.registry, real_seams(), coordinator});
      self_->monitor(actor);
      nodes_.push_back(actor);
    }
  }
  ~InProcessNodes() {
    for (const node_actor& actor : nodes_) caf::anon_send(actor, Stop{});
    for (std::size_t left = nodes_.size(); left > 0; --left) {
      bool ended = false;
      self_->receive([&](const caf::down_msg&) { ended = true; },
                     caf::after(std::chrono::seconds(5)) >> [] {});
      if (!ended) break;  // computes for longer than anyone waits; it ends by itself
    }
  }
  InProcessNodes(const InProcessNodes&) = delete;
  InProcessNodes& operator=(const InProcessNodes&) = delete;

 private:
  caf::scoped_actor self_;
  std::vector<node_actor> nodes_;
};

// Waits for the coordinator's last word; passes on signals and ended children.
Report wait_for_end(const Ending& ending, Signals& signals, Children& children,
                    const coordinator_actor& coordinator) {
  int taken = 0;
  for (;;) {
    if (auto report = ending.get()) return *report;
    std::vector<pollfd> waits{{ending.descriptor(), POLLIN, 0}};
    if (signals.descriptor() >= 0) waits.push_back({signals.descriptor(), POLLIN, 0});
    for (const int descriptor : children.descriptors()) waits.push_back({descriptor, POLLIN, 0});
    ::poll(waits.data(), waits.size(), 100);
    while (const int signal = signals.take()) {
      if (taken++ > 0) {
        children.kill_all();
        ::_exit(128 + signal);
      }
      caf::anon_send(coordinator, StopRequest{signal == SIGINT ? "SIGINT" : "SIGTERM"});
    }
    while (const auto ended = children.next_ended()) {
      caf::anon_send(coordinator, ChildEnded{ended->name, ended->pid, ended->how});
    }
  }
}

Report run_in(caf::actor_system& system, Preflight flight, const RunOptions& options, Signals& signals) {
  Ending ending;
  CoordinatorParts parts;
  parts.job = flight.job;
  parts.job_toml = to_toml(flight.job);
  parts.placement = flight.placement;
  parts.observers = options.observers;
  for (const std::string& text : flight.placement.notices)
    parts.first_events.push_back(make_event("notice", {{"text", text}}));
  parts.on_event = options.on_event;
  parts.on_progress = options.on_progress;
  parts.on_end = [&ending](const Report& report) { ending.set(report); };

  Children children;
  auto actor = system.spawn(coordinator, std::move(parts));
  std::optional<InProcessNodes> nodes;
  Report report;
  try {
    if (options.in_process) {
      nodes.emplace(system, flight.job, options, actor);
    } else {
      const std::uint16_t port = publish(system, actor, flight.job);
      start_processes(children, flight.job, options, port);
    }
    report = wait_for_end(ending, signals, children, actor);
  } catch (...) {
    caf::anon_send_exit(actor, caf::exit_reason::kill);
    throw;
  }
  children.end_within(report.completed() ? kPartingGood : kPartingBad);
  nodes.reset();
  if (!options.in_process) system.middleman().unpublish(actor, 0);
  caf::scoped_actor self(system);
  caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  self->wait_for(actor);
  return report;
}

}  // namespace

std::string this_executable() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw Error(Advice::give_up, "the path of this executable is not known: " + error.message());
  return path.string();
}

Report run(const Job& job, const RunOptions& options) {
  Preflight flight = preflight(job, options.places, options.registry);
  if (!flight.mistakes.empty()) throw JobRefused(flight.mistakes);
  Signals signals(options.handle_signals);
  prepare_ucx_process();
  if (options.system) return run_in(*options.system, std::move(flight), options, signals);
  caf::actor_system_config config;
  config.load<caf::io::middleman>();
  configure(config);
  caf::actor_system system(config);
  system.await_actors_before_shutdown(false);
  return run_in(system, std::move(flight), options, signals);
}

}  // namespace muster
