// Embedding: a job in, a report out.
//
//   #include "muster/job_file.hpp"
//   #include "muster/run.hpp"
//
//   muster::Report train(const std::string& path) {
//     muster::RunOptions options;
//     const auto parsed = muster::read_job_file(path, {}, options.registry.declarations());
//     if (!parsed.job) throw muster::JobRefused(parsed.mistakes);
//     options.in_process = true;
//     options.on_event = [](const muster::Event& event) { std::puts(muster::to_json_line(event).c_str()); };
//     return muster::run(*parsed.job, options);
//   }
//
// Replicas are child processes, or live in this process (`in_process`), over the same reducer and transport.
// A child is this executable, started again with "node" as its first argument: `main` begins with
// `if (argc > 1 && std::strcmp(argv[1], "node") == 0) return muster::main(argc, argv, registry);`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "muster/error.hpp"
#include "muster/events.hpp"
#include "muster/job.hpp"
#include "muster/mistake.hpp"
#include "muster/observer.hpp"
#include "muster/progress.hpp"
#include "muster/registry.hpp"
#include "muster/report.hpp"

namespace muster {

/// How a job is run: all that is not part of the job. Read when `run` begins.
struct RunOptions {
  /// Models and sources that the job may name.
  Registry registry = builtin_registry();

  /// Where the keys of the job were written, so that mistakes found late (data, devices) show their place
  /// too.
  Places places;

  /// Replicas and loaders as actors of this process instead of processes of their own.
  bool in_process = false;

  /// How a child process is started: the program and its first arguments. Empty: this executable with "node".
  /// What it starts must hand its arguments to muster::main.
  std::vector<std::string> node_command;

  /// Each receives every event as a typed message, and may answer with StopRequest. They live in an actor
  /// system of the program's own (made with `configure`); the run has another one, so one that is slow, or
  /// hangs, holds up nothing but itself, and the event `missed` tells it how many it missed.
  /// Its actor system must live until `run` has returned; end each observer then
  /// (`caf::anon_send_exit(observer, caf::exit_reason::user_shutdown)`), for a system waits for its actors.
  std::vector<observer_actor> observers;

  /// Called one at a time, on a thread of their own; may block. One that throws is called no more, and stderr
  /// says so. `run` returns when they have been told all.
  /// Events that come while 10,000 wait are left out, and the event `missed` says how many; of Progress only
  /// the last one waits.
  std::function<void(const Event&)> on_event;
  /// Of steps on the way, as on_event. Progress and what is known of the data.
  std::function<void(const Progress&, const DataFacts&)> on_progress;

  /// Goes on from the newest whole checkpoint of this job in checkpoint.folder; throws NothingToResume if
  /// there is none.
  bool resume = false;
  /// With `resume`: keys of the job that may differ from the job that wrote the checkpoint
  /// ("train.optimizer.learning_rate"; a key that may not is refused, and the error lists those that may).
  std::vector<std::string> accept;

  /// Nothing is launched: nodes are started by hand with `muster join`, and come to this port of
  /// cluster.listen. The journal lies in checkpoint.folder, if there is one; then a coordinator that died can
  /// be started again while the steps go on.
  bool by_hand = false;
  std::uint16_t port = 0;  ///< with `by_hand`: of the coordinator

  /// Starts without the check of what the model and the sources promise (docs/guides/contract.md): for a
  /// model that keeps its promises in a way that the check does not see.
  bool unchecked = false;

  /// Called once when nodes can reach the coordinator; must not block. Not with `in_process`.
  std::function<void()> on_listening;

  /// Whether SIGINT, SIGTERM and SIGHUP (unless it is ignored) end the run (outcome "interrupted"); a second
  /// one ends the process at once. Their handlers are put back at the end. One run at a time may ask for it.
  bool handle_signals = false;
};

/// This executable, as children of it are started.
std::string this_executable();

/// Runs the job to its end, in whatever way it ends; blocks. Ends every process that it started. Throws
/// before anything starts: JobRefused (mistakes, missing data, models and sources that break their
/// contract), NothingToResume, and Error for a machine that does not do its part (a folder that another run
/// holds, an address that is taken). Once a run has begun its end is in the report.
Report run(const Job& job, const RunOptions& options);

/// A job cannot be run as it is; nothing was started. Its text is all mistakes, one a line.
class JobRefused : public Error {
 public:
  /// At least one mistake.
  explicit JobRefused(std::vector<Mistake> mistakes)
      : Error(render(mistakes)), mistakes_(std::move(mistakes)) {}
  /// Each with its key and place.
  const std::vector<Mistake>& mistakes() const { return mistakes_; }

 private:
  std::vector<Mistake> mistakes_;
};

}  // namespace muster
