#include "muster/run.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include <caf/io/all.hpp>

#include "actors/checkpoint/checkpoint_manifest.hpp"
#include "actors/checkpoint/folder_lease.hpp"
#include "actors/checkpoint/folder_mark.hpp"
#include "actors/coordinator/coordinator.hpp"
#include "actors/coordinator/records/bounded_journal.hpp"
#include "actors/events/event.hpp"
#include "actors/node/control_port.hpp"
#include "actors/node/control_socket.hpp"
#include "actors/node/launcher.hpp"
#include "actors/node/lost_processes.hpp"
#include "actors/node/node_process.hpp"
#include "actors/preflight/check_here.hpp"
#include "actors/preflight/preflight_apart.hpp"
#include "actors/processes/descriptors.hpp"
#include "actors/processes/signals.hpp"
#include "actors/processes/spawn.hpp"
#include "actors/registry/job_hash.hpp"
#include "actors/registry/mathematics_text.hpp"
#include "actors/resume/other_job.hpp"
#include "actors/run/progress_file.hpp"
#include "actors/run/run_address.hpp"
#include "actors/run/run_listeners.hpp"
#include "actors/user_calls/watched_registry.hpp"
#include "base/bounded/bounded_disk.hpp"
#include "base/mutex.hpp"
#include "base/this_machine.hpp"
#include "config/notices.hpp"
#include "config/values/address.hpp"
#include "muster/job_file.hpp"
#include "transport/ucx/ucx_transport.hpp"

namespace muster {

namespace {

constexpr auto kPartingGood = std::chrono::milliseconds(2000);
constexpr auto kPartingBad = std::chrono::milliseconds(300);
constexpr auto kPartingByHand =
    std::chrono::milliseconds(3000);  // more than a coordinator waits for its nodes

// The coordinator's last report, handed to the waiting thread.
class Ending {
 public:
  Ending() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Ending() { ::close(descriptor_); }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;

  /// All are told to end.
  void begin() { begun_ = true; }
  bool begun() const { return begun_; }
  void set(const Report& report) {
    {
      const MutexLock lock(mutex_);
      report_ = report;
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof one);
  }
  std::optional<Report> get() const {
    const MutexLock lock(mutex_);
    return report_;
  }
  int descriptor() const { return descriptor_; }

 private:
  mutable Mutex mutex_;
  std::optional<Report> report_ MUSTER_GUARDED_BY(mutex_);
  std::atomic<bool> begun_ = false;
  const int descriptor_;
};

[[noreturn]] void refuse_address(const Job& job, std::uint16_t wanted, const std::string& why) {
  throw JobRefused(
      {mistake_at({}, "cluster.listen", "cannot listen on this address: " + (why.empty() ? "try again" : why),
                  job.cluster.listen + (wanted > 0 ? ":" + std::to_string(wanted) : ""),
                  wanted > 0 ? "an address of this machine, and a port that no other process listens on"
                             : "an address of this machine")});
}

// Before anything is written: a journal would tell of a run that never was.
void check_address(const Job& job, std::uint16_t wanted) {
  if (const auto check = check_listening(job.cluster.listen, wanted); !check.why_not.empty())
    refuse_address(job, wanted, check.why_not);
}

// CAF is given numbers: it would look up a name without a deadline.
std::uint16_t publish(caf::actor_system& system, const coordinator_actor& coordinator, const Job& job,
                      std::uint16_t wanted) {
  const ListenCheck check = check_listening(job.cluster.listen, wanted);
  if (!check.why_not.empty()) refuse_address(job, wanted, check.why_not);
  const auto port = system.middleman().publish(coordinator, wanted, check.address.c_str(), true);
  if (!port) refuse_address(job, wanted, check_listening(job.cluster.listen, wanted).why_not);
  return *port;
}

// Replicas and loaders within this process. All have let go of what they hold when this object is gone.
class InProcessNodes {
 public:
  InProcessNodes(caf::actor_system& system, const Job& job, const RunOptions& options,
                 const coordinator_actor& coordinator)
      : self_(system) {
    for (const NodeName& name : node_names(job)) {
      NodeSetup setup = setup_here();
      setup.name = name;
      setup.pid = ::getpid();
      setup.incarnation = new_incarnation();
      setup.registry = options.registry;
      WatchedRegistry::guard_calls(setup.registry);
      setup.seams = real_seams();
      setup.coordinator = coordinator;
      auto actor = system.spawn(node, std::move(setup));
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

// Whoever sends a signal to a launcher may send it to its nodes, too. They may all have left before it was
// told.
Report interrupted_by(int signal, Report report) {
  if (signal != 0 && report.outcome == "interrupted") report.reason = name_of_signal(signal);
  return report;
}

// Waits for the coordinator's last report; passes on signals and ended children. A second signal ends all at
// once: nodes that were started by hand are told so.
Report wait_for_end(const Ending& ending, Signals& signals, Launcher& launcher, LostProcesses& lost,
                    const coordinator_actor& coordinator, bool by_hand) {
  using Clock = std::chrono::steady_clock;
  int taken = 0, last_signal = 0;
  std::optional<Clock::time_point> leave_at;
  for (;;) {
    if (auto report = ending.get()) return interrupted_by(taken > 0 ? last_signal : signals.take(), *report);
    std::vector<pollfd> waits{{ending.descriptor(), POLLIN, 0}};
    if (signals.descriptor() >= 0) waits.push_back({signals.descriptor(), POLLIN, 0});
    for (const int descriptor : launcher.children.descriptors()) waits.push_back({descriptor, POLLIN, 0});
    ::poll(waits.data(), waits.size(), 100);
    while (const int signal = signals.take()) {
      if (taken > 0 && signal == SIGHUP) continue;  // a shell and the kernel both send it
      if (taken++ > 0 && (!by_hand || leave_at)) {
        launcher.children.kill_all();
        ::_exit(128 + signal);
      }
      if (taken > 1) leave_at = Clock::now() + kPartingByHand;
      last_signal = signal;
      launcher.start_no_more();
      caf::anon_send(coordinator, StopRequest{name_of_signal(signal)});
    }
    if (leave_at && Clock::now() >= *leave_at) ::_exit(128 + last_signal);
    if (ending.begun()) launcher.start_no_more();
    launcher.end_lost(lost.take());
    launcher.report_ended(coordinator);
    launcher.start_anew(coordinator);
  }
}

void go_on(const Job& job, const RunOptions& options, CoordinatorSetup& setup) {
  const auto disk = job.checkpoint.folder.empty() ? nullptr : open_disk(job.checkpoint.folder);
  const std::string changed = disk ? accept_other_job(job, options.registry, disk, options.accept) : "";
  if (!changed.empty()) setup.first_events.push_back(make_event("notice", {{"text", changed}}));
  setup.resume = find_resume(job, options.registry, disk);
}

CoordinatorSetup coordinator_setup(const Preflight& flight, const RunOptions& options, Ending& ending) {
  CoordinatorSetup setup;
  setup.job = flight.job;
  setup.job_toml = to_toml(flight.job);
  setup.job_hash = job_hash(flight.job, options.registry.declarations());
  setup.placement = flight.placement;
  if (!flight.job.checkpoint.folder.empty()) setup.checkpoints = open_disk(flight.job.checkpoint.folder);
  setup.by_hand = setup.start_is_bounded = options.by_hand;
  setup.reaps = !options.by_hand && !options.in_process;
  for (const std::string& text : flight.placement.notices)
    setup.first_events.push_back(make_event("notice", {{"text", text}}));
  if (options.by_hand && !flight.job.checkpoint.folder.empty()) {
    const auto path =
        std::filesystem::path(flight.job.checkpoint.folder) / (file_name_of(flight.job.name) + ".journal");
    setup.journal = bounded_journal(make_journal(path), path.string());
    setup.folder_mark = folder_mark(flight.job);
  }
  // Behind the journal, whose lock another coordinator may hold: this renames checkpoints.
  if (options.resume) go_on(flight.job, options, setup);
  if (setup.checkpoints) keep_mathematics(*setup.checkpoints, flight.job, options.registry.declarations());
  // From here on the coordinator's actor looks into the folder, and heartbeats wait for it.
  if (setup.checkpoints) setup.checkpoints = bounded_disk(setup.checkpoints);
  setup.progress = std::make_shared<ProgressHistory>(flight.job);
  setup.on_conclude = [&ending] { ending.begin(); };
  setup.on_end = [&ending](const Report& report) { ending.set(report); };
  return setup;
}

// Two runs would write, prune and go on from each other's checkpoints. Where there is no folder, or none that
// can be written, training begins all the same: what is wrong is told when a checkpoint is due. A coordinator
// of nodes that are started by hand holds its journal, by the same lock.
std::optional<FolderLease> hold_folder(const Job& job, bool by_hand) {
  if (job.checkpoint.folder.empty() || by_hand) return std::nullopt;
  try {
    return std::optional<FolderLease>(std::in_place, std::filesystem::path(job.checkpoint.folder) /
                                                         (file_name_of(job.name) + ".journal.lock"));
  } catch (const FolderHeld&) {
    throw;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Where user code or a signal has ended replicas, that is why the run has failed, whatever else it says; the
// coordinator may have ended before it heard so.
void report_causes(Report& report, const std::vector<Children::Ended>& told,
                   const std::vector<Children::Ended>& late, const RunOptions& options) {
  std::vector<Children::Ended> causes = told;
  for (const auto& ended : late) {
    if (!ended.in_user_code) continue;
    causes.push_back(ended);
    Event event = make_event("notice", {{"text", ended.text()}});
    event.time_ms = report.wall_seconds * 1000;
    ++report.event_counts[event.name];
    report.events.push_back(event);
    if (options.on_event) options.on_event(event);
  }
  if (!causes.empty() && report.reason.find(causes.back().how) == std::string::npos)
    report.reason += "; " + causes.back().text();
}

RunAddress address_of(const Job& job, std::uint16_t port) {
  return {job.name, host_name(), boot_id(), ::getpid(), pid_space(), job.cluster.listen, port};
}

// Who asks by the folder does not find a run that could not write there.
void report_address(const Job& job, std::uint16_t port, const coordinator_actor& actor,
                    std::optional<AddressFile>& file) {
  file.emplace(job.checkpoint.folder, address_of(job, port));
  if (file->why_not().empty()) return;
  const std::string instead =
      port > 0 ? ": give them " +
                     address_text(is_any_address(job.cluster.listen) ? host_name() : job.cluster.listen, port)
               : "";
  caf::anon_send(actor,
                 Raised{make_event("notice", {{"text",
                                               "`muster status` and `muster stop` do not find this run by "
                                               "its checkpoint.folder" +
                                                   instead + "; " + file->why_not()}})});
}

std::shared_ptr<ProgressFile> keep_progress(const Job& job,
                                            std::function<void(const std::string&)> on_failure) {
  if (job.checkpoint.folder.empty()) return nullptr;
  return std::make_shared<ProgressFile>(
      std::filesystem::path(job.checkpoint.folder) / (file_name_of(job.name) + ".progress.jsonl"),
      std::chrono::system_clock::now(), std::move(on_failure));
}

Report run_in(caf::actor_system& system, Preflight flight, const RunOptions& options, Signals& signals) {
  Ending ending;
  LostProcesses lost;
  coordinator_actor actor;
  const auto kept = keep_progress(flight.job, [&actor](const std::string& why) {
    caf::anon_send(actor, Raised{make_event("notice", {{"text",
                                                        "no progress is kept for the report of a "
                                                        "run that goes on from this one: " +
                                                            why}})});
  });
  RunListeners listeners(options,
                         kept ? [kept](const Event& event) { kept->report(event); } : EventFeed::OnEvent());
  CoordinatorSetup setup = coordinator_setup(flight, options, ending);
  setup.on_event = [&listeners](const Event& event) { listeners.report(event); };
  setup.on_lost = [&lost](std::uint64_t launched) { lost.note(launched); };
  setup.on_progress = [&listeners](const Progress& progress, const DataFacts& facts) {
    listeners.report(progress, facts);
  };
  const auto progress = setup.progress;
  actor = system.spawn(coordinator, std::move(setup));
  listeners.answer_to(actor);
  std::optional<InProcessNodes> nodes;
  std::optional<Launcher> launcher;
  std::optional<RefusalReports> refusals;
  std::optional<AddressFile> address;
  Report report;
  try {
    std::uint16_t port = 0;
    if (!options.in_process) {
      port = publish(system, actor, flight.job, options.port);
      if (options.on_listening) options.on_listening();
      const std::string& listen = flight.job.cluster.listen;
      const std::string reached = address_text(is_any_address(listen) ? host_name() : listen, port);
      caf::anon_send(actor, Raised{make_event("listening", {{"address", reached}})});
      refusals.emplace(system, actor);
    }
    if (!flight.job.checkpoint.folder.empty()) report_address(flight.job, port, actor, address);
    const auto command = options.node_command.empty() ? std::vector<std::string>{this_executable(), "node"}
                                                      : options.node_command;
    launcher.emplace(flight.job, flight.placement, command, port);
    if (options.in_process) {
      nodes.emplace(system, flight.job, options, actor);
    } else if (!options.by_hand) {
      launcher->start_all();
    }
    report = wait_for_end(ending, signals, *launcher, lost, actor, options.by_hand);
  } catch (...) {
    caf::anon_send_exit(actor, caf::exit_reason::kill);
    caf::scoped_actor(system)->wait_for(actor);  // it tells what lives no longer than this function
    throw;
  }
  const auto late = launcher->children.end_within(report.completed() ? kPartingGood : kPartingBad);
  nodes.reset();
  refusals.reset();
  if (!options.in_process) system.middleman().unpublish(actor, 0);
  caf::scoped_actor self(system);
  caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  self->wait_for(actor);
  listeners.finish(signals);
  report.progress = progress->rows();  // its actor has ended
  if (kept) report.progress = kept->all(report.progress, report.steps);
  if (report.outcome == "failed") report_causes(report, launcher->causes, late, options);
  return report;
}

// By a signal, before anything was started.
Report ended_early(const Job& job, int signal, const RunOptions& options) {
  Report report;
  report.job = job.name;
  report.replicas = job.cluster.replicas;
  report.shards = job.train.shards;
  report.outcome = "interrupted";
  report.reason = name_of_signal(signal);
  const Event event = make_event("interrupted", {{"reason", report.reason}});
  report.add(event);
  if (options.on_event) options.on_event(event);
  return report;
}

}  // namespace

std::string this_executable() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw Error("the path of this executable is not known: " + error.message());
  return path.string();
}

Report run(const Job& job, const RunOptions& options) {
  end_if_child();
  prepare_ucx_process();  // first of all: it gives SIGHUP back
  const Trial trial = options.by_hand ? Trial::nowhere : Trial::on_host;  // the nodes are elsewhere
  // A program with another command for its nodes does not know this one's.
  const bool apart = !options.in_process && options.node_command.empty();
  const ContractScope scope = options.unchecked ? ContractScope::none() : ContractScope{};
  Signals signals(options.handle_signals);
  Preflight flight;
  if (apart) {
    try {
      flight = preflight_apart(job, options.places, options.registry, trial, scope,
                               {this_executable(), "node"}, signals.descriptor());
    } catch (const StopRequested&) {
      return ended_early(job, signals.take(), options);
    }
  } else {
    const auto note = CallNote::create();
    Registry noted = options.registry;
    WatchedRegistry::note_calls(noted, note);
    CheckHere check(signals, *note);
    flight = preflight(job, options.places, noted, trial, scope);
    if (const int signal = check.finish()) return ended_early(job, signal, options);
  }
  if (auto wrong = mistake_of_data_ports(job, options.port, options.places))
    flight.mistakes.push_back(*wrong);
  if (!flight.mistakes.empty()) throw JobRefused(flight.mistakes);
  const auto allowed = raise_descriptor_limit();
  const auto needed = descriptors_of_coordinator(job, options.in_process);
  if (const auto why = too_few_descriptors(needed, allowed); why && options.in_process)
    throw JobRefused({mistake_at(options.places, "cluster.replicas", *why)});
  if (!options.in_process) check_address(flight.job, options.port);
  const auto lease = hold_folder(job, options.by_hand);
  if (options.handle_signals) take_errors_for_signals();
  caf::actor_system_config config;
  load_middleman(config);
  configure(config);
  caf::actor_system system(config);
  system.await_actors_before_shutdown(false);
  return run_in(system, std::move(flight), options, signals);
}

}  // namespace muster
