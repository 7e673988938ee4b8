// muster check: whether the model and the sources of a job keep their contracts, at length. Trains nothing.
#include <algorithm>
#include <cstdio>

#include "actors/preflight/preflight_apart.hpp"
#include "base/units.hpp"
#include "cli/job_arguments.hpp"
#include "muster/run.hpp"

namespace muster::cli {

namespace {

constexpr const char* kCheckUsage =
    "Usage: muster check JOB.toml [--seconds N] [--samples N] [--in-process] [--set table.key=value]...\n\n"
    "Opens the data, builds the model, and checks on a few samples whether both keep their contracts\n"
    "(docs/guides/contract.md): what `run` checks before it starts, with more samples, with generators\n"
    "opened, and with each tensor's gradient compared with finite differences of the loss.\n"
    "Exit codes: 0 nothing is broken, 2 something is, or the job file is wrong.\n";

void print_done(const Preflight& flight) {
  for (std::size_t i = 0; i < flight.contract.done.size(); ++i) {
    const auto& done = flight.contract.done;
    const auto first = std::find(done.begin(), done.end(), done[i]);
    if (first != done.begin() + static_cast<std::ptrdiff_t>(i)) continue;  // of the other source, say
    const auto times = std::count(done.begin(), done.end(), done[i]);
    std::printf("ok        %s%s\n", done[i].c_str(),
                times > 1 ? (" (" + std::to_string(times) + " times)").c_str() : "");
  }
  for (const auto& each : flight.contract.left_out)
    std::printf("left out  %s: %s\n", each.check.c_str(), each.why.c_str());
  std::printf("%s: no broken contract was found in %s\n", flight.job.name.c_str(),
              human_duration(flight.contract.took).c_str());
}

}  // namespace

int check_command(const Arguments& arguments, const Registry& registry) {
  po::options_description options("Options");
  add_job_options(options);
  ContractScope scope = ContractScope::at_length();
  std::int64_t seconds = scope.budget.count() / 1000;
  auto samples = static_cast<std::int64_t>(scope.positions);
  options.add_options()("seconds", po::value(&seconds)->default_value(seconds)->value_name("N"),
                        "no check begins after so many seconds")(
      "samples", po::value(&samples)->default_value(samples)->value_name("N"),
      "samples of each source that are read, at random, beside the first and the last one")(
      "in-process", "in this process, for a debugger; else in a child, so that a crash is an answer");
  int code = kCompleted;
  const auto given = parse("check", kCheckUsage, arguments, options, "JOB.toml", code);
  if (!given) return code;
  constexpr std::int64_t kSecondsMax = 86'400, kSamplesMax = 1'000'000;
  if (seconds < 1 || seconds > kSecondsMax)
    return wrong_usage("check", "--seconds is from 1 to " + std::to_string(kSecondsMax));
  if (samples < 0 || samples > kSamplesMax)
    return wrong_usage("check", "--samples is from 0 to " + std::to_string(kSamplesMax));
  scope.budget = std::chrono::seconds(seconds);
  scope.positions = static_cast<std::uint64_t>(samples);
  const ParsedJob parsed = read_job(*given, registry);
  if (!parsed.job) return kWrong;
  const Preflight flight = given->count("in-process") > 0
                               ? preflight(*parsed.job, parsed.places, registry, Trial::on_host, scope)
                               : preflight_apart(*parsed.job, parsed.places, registry, Trial::on_host, scope,
                                                 {this_executable(), "node"});
  std::fprintf(stderr, "%s", render(flight.mistakes).c_str());
  if (!flight.mistakes.empty()) return kWrong;
  print_done(flight);
  return kCompleted;
}

}  // namespace muster::cli
