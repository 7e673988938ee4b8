// muster status, muster stop: how a run stands, and its end, from another terminal or host.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "actors/run/remote_run.hpp"
#include "base/bounded/host_resolver.hpp"
#include "base/this_machine.hpp"
#include "base/time_of_day.hpp"
#include "base/units.hpp"
#include "cli/format.hpp"
#include "cli/job_arguments.hpp"
#include "config/values/address.hpp"
#include "muster/run.hpp"

namespace muster::cli {

namespace {

constexpr const char* kStatusUsage =
    "Usage: muster status FOLDER|HOST:PORT|JOB.toml [--job NAME] [--json]\n\n"
    "Shows a run that is under way: its step, its loss, its last checkpoint, and its replicas with their\n"
    "hosts. FOLDER is the run's checkpoint.folder (JOB.toml: the one that this job names), HOST:PORT its\n"
    "coordinator, as `muster coordinate` prints it and the event `listening` says.\n"
    "Exit codes: 0 the run is under way, 1 it is not, or does not answer, 2 command line or job file "
    "wrong.\n";

constexpr const char* kStopUsage =
    "Usage: muster stop FOLDER|HOST:PORT|JOB.toml [--job NAME] [--now] [--wait SECONDS]\n\n"
    "Tells a run to end, as Ctrl-C in its terminal does, and waits for that. With checkpoint.folder one of "
    "its\n"
    "replicas writes a last checkpoint first (for checkpoint.grace at most); `muster run JOB.toml --resume` "
    "goes\n"
    "on from it. FOLDER is the run's checkpoint.folder, HOST:PORT its coordinator.\n"
    "Exit codes: 0 the run has ended, 1 it has not, or was not under way, 2 command line or job file "
    "wrong.\n";

constexpr std::int64_t kWaitMax = 24 * 3600;

void add_target_options(po::options_description& options) {
  options.add_options()("job", po::value<std::string>()->value_name("NAME"),
                        "the job that is meant, where several keep their state in one folder")("help",
                                                                                               "this text");
}

struct Target {
  std::string where, job;
};

// A job file names a folder and a job. What the command line says of the job counts more.
Target target_of(const po::variables_map& given, const Registry& registry) {
  Target target{given["FOLDER|HOST:PORT"].as<std::string>(), {}};
  if (const auto address = address_in_url(target.where))
    throw Error("'" + target.where +
                "' is a URL; write HOST:PORT of the run's coordinator, without a scheme: " + *address);
  std::error_code error;
  if (std::filesystem::is_regular_file(target.where, error)) {
    const ParsedJob parsed = read_job_file(target.where, {}, registry.declarations());
    if (!parsed.job) throw JobRefused(parsed.mistakes);
    if (parsed.job->checkpoint.folder.empty())
      throw Error(target.where + " names no checkpoint.folder; give HOST:PORT of the run's coordinator");
    target = {parsed.job->checkpoint.folder, parsed.job->name};
    if (!std::filesystem::is_directory(target.where, error))
      throw RunGone("no run of " + target.job + " is under way: its checkpoint.folder, " + target.where +
                    ", is not there yet");
  }
  if (given.count("job")) target.job = given["job"].as<std::string>();
  return target;
}

std::string lasted(double seconds) {
  return human_duration(std::chrono::duration<double>(seconds));
}

// What is not known is null.
template <class Value>
nlohmann::json known(bool is_known, const Value& value) {
  return is_known ? nlohmann::json(value) : nlohmann::json();
}

nlohmann::json to_json(const RunStatus& status) {
  nlohmann::json nodes = nlohmann::json::array();
  for (const NodeStatus& node : status.nodes)
    nodes.push_back({{node.name.loader ? "loader" : "replica", node.name.slot},
                     {"state", node.state},
                     {"host", node.host},
                     {"address", node.address},
                     {"device", node.device},
                     {"pid", node.pid},
                     {"step", node.step}});
  return {{"job", status.job},
          {"state", status.state},
          {"detail", status.detail},
          {"elapsed_seconds", status.elapsed_s},
          {"view", status.view},
          {"epoch", known(status.epoch > 0, status.epoch)},
          {"step", status.step},
          {"steps", known(status.steps > 0, status.steps)},
          {"samples", status.samples},
          {"loss", known(status.epoch > 0, status.loss)},
          {"samples_per_second", known(status.samples_per_second > 0, status.samples_per_second)},
          {"checkpoint", known(!status.checkpoint.empty(), status.checkpoint)},
          {"checkpoint_step", known(status.checkpoint_step > 0, status.checkpoint_step)},
          {"nodes", nodes}};
}

void print_steps(const RunStatus& status) {
  std::string text = format("step %llu", static_cast<unsigned long long>(status.step));
  if (status.steps > 0) text += format(" of %llu", static_cast<unsigned long long>(status.steps));
  if (status.epoch > 0)
    text = format("epoch %llu, ", static_cast<unsigned long long>(status.epoch)) + text +
           format("  loss %.4f", status.loss);
  if (status.samples_per_second > 0) text += format("  %.0f samples/s", status.samples_per_second);
  const double rate = status.samples_per_second;
  if (rate > 0 && status.steps > status.step && status.step > 0) {
    const double samples_a_step = static_cast<double>(status.samples) / static_cast<double>(status.step);
    text += "  " + lasted(static_cast<double>(status.steps - status.step) * samples_a_step / rate) + " left";
  }
  std::printf("  %s\n", text.c_str());
}

std::string checkpoint_of(const RunStatus& status) {
  if (status.checkpoint_step == 0) return "none";
  return format("step %llu", static_cast<unsigned long long>(status.checkpoint_step)) +
         (status.checkpoint.empty() ? "" : ", " + status.checkpoint);
}

void print(const RunStatus& status, const std::string& address) {
  std::printf("%s: %s%s  (for %s; coordinator %s)\n", status.job.c_str(), status.state.c_str(),
              (status.detail.empty() ? "" : " " + status.detail).c_str(), lasted(status.elapsed_s).c_str(),
              address.c_str());
  print_steps(status);
  std::printf("  last checkpoint: %s\n", checkpoint_of(status).c_str());
  for (const NodeStatus& node : status.nodes) {
    const std::string address_too = node.address.empty() ? "" : " (" + node.address + ")";
    const std::string step =
        node.name.loader ? "" : format("  step %llu", static_cast<unsigned long long>(node.step));
    std::printf("  %-11s %s%s  %s  process %lld  %s%s\n", node.name.text().c_str(), node.host.c_str(),
                address_too.c_str(), node.device.empty() ? "-" : node.device.c_str(),
                static_cast<long long>(node.pid), node.state.c_str(), step.c_str());
  }
}

// Where the resolver gets no answer it blocks for long.
void expect_name_server(const std::string& where, const std::string& command) {
  std::string host;
  std::uint16_t port = 0;
  std::error_code error;
  if (std::filesystem::exists(where, error) || !parse_address(where, host, port)) return;
  const std::string why = why_no_answer(host, RemoteRun::kPatience, [&](const std::string& text) {
    std::fprintf(stderr, "muster %s: %s\n", command.c_str(), text.c_str());
  });
  if (!why.empty()) throw RunGone(why);
}

// A run that is not there, or does not answer, says so; the code is 1. That of a wrong command line is 2.
template <class Ask>
int ask_run(const po::variables_map& given, const Registry& registry, const std::string& command,
            std::chrono::milliseconds patience, Ask&& ask) {
  try {
    const Target target = target_of(given, registry);
    expect_name_server(target.where, command);
    RemoteRun run(target.where, target.job, std::min(patience, RemoteRun::kPatience));
    return ask(run);
  } catch (const RunGone& error) {
    std::fprintf(stderr, "muster %s: %s\n", command.c_str(), error.what());
    return kFailed;
  } catch (const JobRefused& refused) {
    std::fprintf(stderr,
                 "%smuster %s: a job of another program is found by its checkpoint.folder, or by HOST:PORT\n",
                 refused.what(), command.c_str());
    return kWrong;
  } catch (const Error& error) {
    return wrong_usage(command, error.what());
  }
}

std::string who_asks() {
  const char* given = std::getenv("USER");
  std::string user = given ? given : "";
  std::erase_if(user,
                [](unsigned char letter) { return std::iscntrl(letter) != 0; });  // it goes to a terminal
  return "muster stop, by " + (user.empty() ? "a user" : user) + " on " + host_name();
}

int stop_and_wait(RemoteRun& run, bool now, std::int64_t seconds) {
  const RunStatus before = run.status();
  const bool ends = before.state == "ending";
  run.stop(who_asks(), now);
  std::fprintf(stderr, "%s, at step %llu: %s\n", before.job.c_str(),
               static_cast<unsigned long long>(before.step),
               now    ? "told to end at once"
               : ends ? "ends already; waits for it"
                      : "told to end; waits for its last checkpoint, if it keeps any");
  try {
    const auto last = run.wait(std::chrono::seconds(seconds));
    if (!last) {
      std::fprintf(stderr,
                   "muster stop: it has not ended within %lld s; --now ends it without a checkpoint\n",
                   static_cast<long long>(seconds));
      return kFailed;
    }
    std::printf("%s: %s at step %llu; last checkpoint: %s\n", last->job.c_str(), last->state.c_str(),
                static_cast<unsigned long long>(last->step), checkpoint_of(*last).c_str());
  } catch (const RunGone& error) {
    std::fprintf(stderr, "muster stop: %s; what the run itself printed says how it ended\n", error.what());
    return kFailed;
  }
  return kCompleted;
}

}  // namespace

int status_command(const Arguments& arguments, const Registry& registry) {
  po::options_description options("Options");
  options.add_options()("json", "one JSON object, for programs");
  add_target_options(options);
  int code = kCompleted;
  const auto given = parse("status", kStatusUsage, arguments, options, "FOLDER|HOST:PORT", code);
  if (!given) return code;
  return ask_run(*given, registry, "status", RemoteRun::kPatience, [&](RemoteRun& run) {
    const RunStatus status = run.status();
    if (given->count("json"))
      std::printf("%s\n", to_json(status).dump().c_str());
    else
      print(status, run.address());
    return kCompleted;
  });
}

int stop_command(const Arguments& arguments, const Registry& registry) {
  po::options_description options("Options");
  options.add_options()("now", "at once, without a last checkpoint")(
      "wait", po::value<std::int64_t>()->value_name("SECONDS")->default_value(120),
      "how long its end is waited for");
  add_target_options(options);
  int code = kCompleted;
  const auto given = parse("stop", kStopUsage, arguments, options, "FOLDER|HOST:PORT", code);
  if (!given) return code;
  const std::int64_t seconds = (*given)["wait"].as<std::int64_t>();
  if (seconds < 1 || seconds > kWaitMax)
    return wrong_usage(
        "stop", "--wait is 1 to " + std::to_string(kWaitMax) + " seconds; found " + std::to_string(seconds));
  return ask_run(*given, registry, "stop", std::chrono::seconds(seconds),
                 [&](RemoteRun& run) { return stop_and_wait(run, given->count("now") > 0, seconds); });
}

}  // namespace muster::cli
