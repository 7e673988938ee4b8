// A program that embeds Muster: a model (logistic.cpp), a source (ring.cpp) and an actor (watcher.cpp) of its
// own.
//
//   embed run ring.toml
//   embed plan ring.toml
//
// Muster's own command line, with this program's model and source; the replicas are this executable, started
// again.
//
//   embed watch processes ring.toml REPORT [EPOCHS [table.key=value]...]
//   embed watch threads ring.toml REPORT [EPOCHS [table.key=value]...]
//
// muster::run, with an actor of this program listening; the actor asks for the end after
// EPOCHS epochs. The replicas are processes of their own, or threads of this one.
//
// Elsewhere, progress and failures of a training job are read from log lines, and stopping it early means
// killing processes. Here a run is a function that returns a report, each event is a typed message, and so is
// the end.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <caf/all.hpp>

#include "logistic.hpp"
#include "muster/command_line.hpp"
#include "muster/job_file.hpp"
#include "muster/run.hpp"
#include "ring.hpp"
#include "watcher.hpp"

namespace {

muster::Registry registry() {
  muster::Registry all = muster::builtin_registry();
  all.add_model("logistic", logistic_options(), make_logistic);
  all.add_source("ring", ring_options(), make_ring);
  return all;
}

int watch(bool in_process, const char* job_file, const char* report_file, int epochs_max,
          const std::vector<std::string>& sets) {
  muster::RunOptions options;
  options.registry = registry();
  const muster::ParsedJob parsed = muster::read_job_file(job_file, sets, options.registry.declarations());
  if (!parsed.job) {
    std::fprintf(stderr, "%s", muster::render(parsed.mistakes).c_str());
    return 2;
  }

  caf::actor_system_config config;
  muster::configure(config);
  caf::actor_system system(config);  // this program's own; the run has another one
  options.in_process = in_process;
  options.places = parsed.places;
  options.observers.push_back(system.spawn(watcher, epochs_max));

  const muster::Report report = muster::run(*parsed.job, options);
  caf::anon_send_exit(options.observers.front(), caf::exit_reason::user_shutdown);
  muster::write_report(report, report_file);
  std::printf("%s: %llu steps, %s\n", report.outcome.c_str(), static_cast<unsigned long long>(report.steps),
              report.weights_sha256.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc >= 5 && std::strcmp(argv[1], "watch") == 0) {
    const int epochs_max = argc > 5 ? std::atoi(argv[5]) : 0;
    return watch(std::strcmp(argv[2], "threads") == 0, argv[3], argv[4], epochs_max,
                 {argv + std::min(argc, 6), argv + argc});
  }
  return muster::main(argc, argv, registry());
}
