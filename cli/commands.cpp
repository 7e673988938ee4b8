#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>

#include "actors/processes/descriptors.hpp"
#include "base/bounded/line_output.hpp"
#include "base/nearest.hpp"
#include "cli/command.hpp"
#include "muster/command_line.hpp"
#include "transport/ucx/ucx_transport.hpp"

namespace muster::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> all = {
      {"run", "train: start the replicas of a job, and report", true, run_command},
      {"coordinate", "train on machines that join by hand: keep the membership, and report", true,
       coordinate_command},
      {"join", "add this machine to a run, at any time", true, join_command},
      {"status", "show a run that is under way: step, loss, replicas, last checkpoint", true, status_command},
      {"stop", "end a run, with a last checkpoint", true, stop_command},
      {"plan", "show what a job would run, and run nothing", true, plan_command},
      {"check", "check the model and the data of a job for broken contracts, and train nothing", true,
       check_command},
      {"devices", "list what this machine can compute on, and what UCX can send from", true, devices_command},
      {"bench", "measure the reduction (allreduce) or the cost of an empty step (step)", true, bench_command},
      {"scaling", "predict the time of a step on many replicas, by a model of cost", true, scaling_command},
      {"job", "print the reference of the job file", true, job_command},
      {"events", "print the reference of all events", true, events_command},
      {"node", "what a child process of a run does; started by run", false, node_command},
  };
  return all;
}

namespace {

std::string& typed() {
  static std::string name = "muster";
  return name;
}

bool plain(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
         std::strchr("_-./=:,@%+", letter) != nullptr;
}

}  // namespace

std::string quoted(const std::string& word) {
  if (!word.empty() && std::ranges::all_of(word, plain)) return word;
  std::string text = "'";
  for (const char letter : word) text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

const std::string& program() {
  return typed();
}

int wrong_usage(const std::string& command, const std::string& what) {
  const std::string name = command.empty() ? "muster" : "muster " + command;
  const std::string help = program() + (command.empty() ? "" : " " + command) + " --help";
  error_output().print(name + ": " + what + "\nTry '" + help + "'.");
  return kWrong;
}

namespace {

void print_help() {
  std::printf(
      "muster: distributed training with actors; the same bits on any number of replicas\n\n"
      "Usage: muster COMMAND [arguments]      'muster COMMAND --help' tells more\n\nCommands:\n");
  for (const Command& command : commands()) {
    if (command.shown) std::printf("  %-11s %s\n", command.name, command.summary);
  }
  std::printf(
      "\n  --version  versions of CAF, UCX, CUDA and libtorch, and what was left out of this build\n"
      "  --help     this text\n\n"
      "Exit codes:\n"
      "  0    completed\n"
      "  1    the run failed; the reason is on stderr\n"
      "  2    the command line or the job file is wrong; what and where is on stderr\n"
      "  130  interrupted by SIGINT (Ctrl-C); 143: by SIGTERM, 129: by SIGHUP. A second signal (no SIGHUP) "
      "ends\n"
      "       the run and its replicas at once, without a last checkpoint\n");
}

int unknown_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.shown) names.push_back(command.name);
  }
  const std::string close = nearest(name, names);
  return wrong_usage(
      "", "unknown command '" + name + "'" + (close.empty() ? "" : "; did you mean '" + close + "'?"));
}

}  // namespace
}  // namespace muster::cli

namespace muster {

int main(int argc, char** argv, const Registry& registry) {
  using namespace cli;
  open_standard_streams();
  prepare_ucx_process();  // a terminal that is gone ends this process, too
  if (argc < 1) return kWrong;
  typed() = quoted(argv[0]);
  const Arguments arguments(argv + 1, argv + argc);
  if (arguments.empty()) {
    print_help();
    return kWrong;
  }
  const std::string& first = arguments.front();
  if (first == "--help" || first == "-h" || first == "help") {
    print_help();
    return kCompleted;
  }
  if (first == "--version") {
    std::printf("%s", version_text().c_str());
    return kCompleted;
  }
  for (const Command& command : commands()) {
    if (first != command.name) continue;
    try {
      return command.run({arguments.begin() + 1, arguments.end()}, registry);
    } catch (const std::exception& error) {
      error_output().print(std::string("muster: ") + error.what());
      return kFailed;
    }
  }
  return unknown_command(first);
}

}  // namespace muster
