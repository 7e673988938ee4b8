// muster run: trains a job, reports, and ends every process that it started.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>

#include "base/bounded/line_output.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "base/time_of_day.hpp"
#include "base/units.hpp"
#include "cli/format.hpp"
#include "cli/job_arguments.hpp"
#include "cli/progress_line.hpp"
#include "cli/training.hpp"
#include "config/schema/schema.hpp"
#include "muster/error.hpp"
#include "muster/run.hpp"

namespace muster::cli {

namespace {

constexpr const char* kRunUsage =
    "Usage: muster run JOB.toml [--replicas N] [--set table.key=value]... [--report FILE] [--events FILE|-] "
    "[--resume [--accept KEY]...] [--unchecked] [--quiet]\n\n"
    "Starts one process for each replica (and loader), trains, evaluates after every epoch, and ends them "
    "all again.\n"
    "Exit codes: 0 completed, 1 failed, 2 command line or job file wrong, 130, 143 or 129 interrupted.\n";

// Where events are written as they happen, one line of JSON each.
class EventLines {
 public:
  // Gives nothing, and says why, if the file cannot be opened.
  static std::unique_ptr<EventLines> open(const std::string& where, bool goes_on) {
    auto lines = std::make_unique<EventLines>();
    if (where.empty()) return lines;
    lines->where_ = where;
    lines->to_ = where == "-" ? stdout : std::fopen(where.c_str(), "a");
    lines->old_ = lines->to_ != stdout && !goes_on;
    if (lines->to_) return lines;
    std::perror(("muster run: --events " + where).c_str());
    return nullptr;
  }
  ~EventLines() {
    if (to_ && to_ != stdout) std::fclose(to_);
  }
  void write(const Event& event) {
    if (!to_) return;
    // A run that is refused leaves those of the one that holds the folder.
    if (std::exchange(old_, false)) [[maybe_unused]]
      const int cut = ::ftruncate(::fileno(to_), 0);
    const std::string line = to_json_line(event, time_of_day(std::chrono::system_clock::now())) + "\n";
    const bool written = std::fputs(line.c_str(), to_) >= 0 && std::fflush(to_) == 0;
    if (written || std::exchange(told_, true)) return;
    std::perror(("muster run: events are missing in --events " + where_).c_str());
  }

 private:
  std::FILE* to_ = nullptr;
  std::string where_;
  bool old_ = false;   // what stands there is another run's
  bool told_ = false;  // that it takes no more
};

// A report that cannot be written is better known before the training than after it.
bool can_write(const std::string& report) {
  if (report.empty()) return true;
  std::error_code error;
  if (std::filesystem::is_directory(report, error)) {
    std::fprintf(stderr, "muster run: --report %s: a folder; give the name of a file\n", report.c_str());
    return false;
  }
  const auto there = std::filesystem::status(report, error);
  const bool to_device = std::filesystem::exists(there) && !std::filesystem::is_regular_file(there);
  if (to_device && ::access(report.c_str(), W_OK) == 0) return true;
  // Where a link leads it is written.
  const auto file = std::filesystem::absolute(report);
  const auto target = std::filesystem::weakly_canonical(file, error);
  if (::access((error ? file : target).parent_path().c_str(), W_OK) == 0) return true;
  std::perror(("muster run: --report " + report).c_str());
  return false;
}

// The report of a run that could not be started.
Report refused_report(const Job& job, const std::string& reason) {
  Report report;
  report.job = job.name;
  report.replicas = job.cluster.replicas;
  report.shards = job.train.shards;
  report.reason = reason;
  return report;
}

int exit_code(const Report& report) {
  if (report.completed()) return kCompleted;
  if (report.outcome != "interrupted") return kFailed;
  return report.reason == "SIGINT"                  ? 130
         : report.reason == "SIGTERM"               ? 143
         : report.reason == "SIGHUP"                ? 129
         : report.reason.starts_with("muster stop") ? 143
                                                    : kFailed;
}

// A key, or a table of keys, as --accept takes it.
std::string wrong_key(const std::string& given) {
  std::vector<std::string> names;
  for (const Key& key : job_keys()) {
    if (key.path == given || key.path.starts_with(given + ".")) return {};
    names.insert(names.end(), {key.path, table_of(key.path)});
  }
  const std::string close = nearest(given, names);
  return "--accept names a key of the job; there is no '" + given + "'" +
         (close.empty() ? "" : "; did you mean " + close + "?");
}

void print_summary(const Report& report) {
  error_output().print(format("completed: %llu steps, %llu samples in %s (%.0f samples/s)  weights_sha256 %s",
                              static_cast<unsigned long long>(report.steps),
                              static_cast<unsigned long long>(report.samples),
                              human_duration(std::chrono::duration<double>(report.wall_seconds)).c_str(),
                              report.samples_per_second, report.weights_sha256.c_str()));
  if (!report.checkpoint.empty()) error_output().print("weights: " + report.checkpoint);
}

// The command line, without one of its words.
std::string command_without(const std::string& left_out, const std::string& command,
                            const Arguments& arguments) {
  std::string text = program() + " " + command;
  for (const std::string& argument : arguments) {
    if (argument != left_out) text += " " + quoted(argument);
  }
  return text;
}

// The command that goes on from the newest checkpoint of a run that ended before its job.
std::string command_to_go_on(const std::string& command, const Arguments& arguments,
                             const Report::Kept& kept) {
  std::string text = command_without("", command, arguments);
  const bool resumes = std::ranges::find(arguments, "--resume") != arguments.end();
  if (!kept.folder.empty()) text += " --set " + quoted("checkpoint.folder=" + in_quotes(kept.folder));
  return resumes ? text : text + " --resume";
}

void print_how_to_go_on(const Report& report, const std::string& command, OnNotFinite on_not_finite) {
  const bool again = on_not_finite == OnNotFinite::stop && report.event_counts.contains("not_finite");
  const bool failed = report.outcome == "failed";
  const bool older = report.kept->step < report.steps;
  const std::string how =
      again    ? "a resume finds the next step not finite again; to go on with weights that are not numbers"
      : failed ? "once the cause is mended go on with"
               : "go on with";
  error_output().print("muster: the state of step " + std::to_string(report.kept->step) + " is kept" +
                       (older ? " (of " + std::to_string(report.steps) + " that were done)" : "") + "; " +
                       how + ": " + command + (again ? " --set train.not_finite=report" : ""));
}

// Nobody could tell them of the end: what they have done is worth more than any checkpoint.
void print_who_may_live(const Report& report, const std::string& command) {
  const std::string kept =
      report.kept ? "; --resume would go back to step " + std::to_string(report.kept->step) : std::string();
  error_output().print("muster: replicas that were not heard may train on, and are found again by: " +
                       command);
  error_output().print("muster: with --resume, which is for when they are gone, their steps would be lost" +
                       kept);
}

bool leave_report(const Report& report, const std::string& file) {
  try {
    write_report(report, file);
    return true;
  } catch (const Error& error) {
    error_output().print(std::string("muster: ") + error.what());
    return false;
  }
}

// However it ends, what is printed next begins a line.
Report run_with_progress(const Job& job, const RunOptions& options, ProgressLine& progress) {
  struct LineEnd {
    ProgressLine& line;
    ~LineEnd() { line.end(); }
  } const at_the_end{progress};
  return run(job, options);
}

std::string without_line_end(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

// Runs the job; whatever becomes of it, there is a report and a code.
Report run_and_report(const Job& job, const RunOptions& options, ProgressLine& progress, bool quiet,
                      int& code) {
  try {
    Report report = run_with_progress(job, options, progress);
    code = exit_code(report);
    if (report.completed() && !quiet) print_summary(report);
    return report;
  } catch (const JobRefused& refused) {
    error_output().print(without_line_end(refused.what()));
    code = kWrong;
    return refused_report(job, refused.what());
  } catch (const NothingToResume& error) {
    error_output().print(std::string("muster: ") + error.what());
    code = kWrong;
    return refused_report(job, error.what());
  } catch (const std::exception& error) {
    error_output().print(std::string("muster: failed: ") + error.what());
    code = kFailed;
    return refused_report(job, error.what());
  }
}

}  // namespace

int train(const Training& training, const Arguments& arguments, const Registry& registry) {
  po::options_description options("Options");
  options.add(training.options);
  options.add_options()("report", po::value<std::string>()->value_name("FILE"),
                        "write one JSON object at the end, also on failure (docs/reference/report.md)")(
      "events", po::value<std::string>()->value_name("FILE|-"),
      "write each event as a line of JSON when it happens")("quiet",
                                                            "print nothing but failures and notices")(
      "unchecked", "do not check on the first samples what model and data promise (docs/guides/contract.md)")(
      "resume", "go on from the complete checkpoint with the highest step of this job in checkpoint.folder")(
      "accept", po::value<std::vector<std::string>>()->value_name("KEY")->composing(),
      "with --resume: the job may differ in this key from the one that wrote the checkpoint, as in "
      "train.optimizer.learning_rate, or in all keys of this table; may be given again");
  add_job_options(options);
  int code = kCompleted;
  const auto given = parse(training.command, training.usage, arguments, options, "JOB.toml", code);
  if (!given) return code;
  const auto text = [&](const char* key) {
    return given->count(key) ? (*given)[key].as<std::string>() : std::string{};
  };
  const std::string report_file = text("report");
  if (!can_write(report_file)) return kWrong;
  RunOptions run_options;
  std::vector<std::string> sets;
  if (const std::string wrong = training.adjust(*given, run_options, sets); !wrong.empty())
    return wrong_usage(training.command, wrong);
  const ParsedJob parsed = read_job(*given, registry, sets);
  if (!parsed.job) {
    if (!report_file.empty()) leave_report(refused_report(Job{}, render(parsed.mistakes)), report_file);
    return kWrong;
  }

  const bool goes_on = given->count("resume") > 0;
  // A coordinator that is started again is started with the same command, and goes on with its run.
  const auto lines = EventLines::open(text("events"), goes_on || run_options.by_hand);
  if (!lines) return kWrong;
  const bool quiet = given->count("quiet") > 0;
  ProgressLine progress(*parsed.job, quiet, run_options.by_hand);
  run_options.registry = registry;
  run_options.handle_signals = true;
  run_options.resume = goes_on;
  if (given->count("accept")) run_options.accept = (*given)["accept"].as<std::vector<std::string>>();
  if (!run_options.accept.empty() && !goes_on)
    return wrong_usage(training.command, "--accept is for --resume, which is not given");
  for (const std::string& key : run_options.accept) {
    if (const std::string wrong = wrong_key(key); !wrong.empty()) return wrong_usage(training.command, wrong);
  }
  run_options.unchecked = given->count("unchecked") > 0;
  run_options.places = parsed.places;
  run_options.on_event = [&](const Event& event) {
    lines->write(event);
    if (event.name == "started" && !quiet && parsed.job->checkpoint.folder.empty())
      error_output().print("checkpoint.folder is not set: nothing is kept of a run that is cut short");
    progress.show(event);
  };
  run_options.on_progress = [&](const Progress& news, const DataFacts& facts) { progress.show(news, facts); };
  const Report report = run_and_report(*parsed.job, run_options, progress, quiet, code);
  if (!report_file.empty() && !leave_report(report, report_file) && code == kCompleted) code = kFailed;
  if (!report.completed() && report.members_may_live)
    print_who_may_live(report, command_without("--resume", training.command, arguments));
  else if (!report.completed() && report.kept)
    print_how_to_go_on(report, command_to_go_on(training.command, arguments, *report.kept),
                       parsed.job->train.not_finite);
  else if (!report.completed() && report.steps > 0 && parsed.job->checkpoint.folder.empty())
    error_output().print("muster: nothing is kept of " + std::to_string(report.steps) +
                         " steps: checkpoint.folder is not set");
  return code;
}

int run_command(const Arguments& arguments, const Registry& registry) {
  Training training{"run", kRunUsage, po::options_description(), nullptr};
  training.options.add_options()("in-process",
                                 "replicas as threads of this process instead of processes of their own");
  training.adjust = [](const po::variables_map& given, RunOptions& options, std::vector<std::string>&) {
    options.in_process = given.count("in-process") > 0;
    return std::string();
  };
  return train(training, arguments, registry);
}

}  // namespace muster::cli
