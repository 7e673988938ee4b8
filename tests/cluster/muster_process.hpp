// The program as a user starts it: run, watched, and ended; and what it leaves behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace muster::cluster_test {

using Arguments = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;
using Json = nlohmann::json;

/// Longer than anything here takes, so that a hang fails instead of standing.
inline constexpr std::chrono::seconds kDeadline{60};

struct Outcome {
  int code = -1;  ///< exit code, or 128 + signal
  std::string out;
  std::string err;
  std::chrono::duration<double> seconds{0};
};

/// A terminal sends Ctrl-C to all processes of a group.
enum class Group { of_the_test, own };

/// One `muster` and all that it started. Whatever of it still lives at the end of the test is killed.
class MusterProcess {
 public:
  /// `program`: of the build's bin/.
  explicit MusterProcess(const Arguments& arguments, const Environment& environment = {},
                         const std::string& program = "muster", Group group = Group::of_the_test);
  ~MusterProcess();
  MusterProcess(const MusterProcess&) = delete;
  MusterProcess& operator=(const MusterProcess&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  /// To all that are in its group; it was started with Group::own.
  void signal_group(int number) const;
  /// Reads no more of its standard output, as a program behind it in a pipe that has ended.
  void close_output();

  /// The next line of standard output; none at its end, or after the deadline.
  std::optional<std::string> line();

  /// The next event of `--events -` with this name, for which `wanted` holds; a null value if there is none.
  template <class Wanted>
  Json event(const std::string& name, Wanted&& wanted) {
    while (const auto text = line()) {
      const Json json = Json::parse(*text, nullptr, false);
      if (json.is_object() && json["event"] == name && wanted(json)) return json;
    }
    return {};
  }
  /// What it has said on standard error up to now.
  std::string err() const;

  /// Whether there comes a time of that length in which it says nothing, while it lives.
  bool quiet_for(std::chrono::milliseconds time);
  Json event(const std::string& name) {
    return event(name, [](const Json&) { return true; });
  }

  /// Reads on until so many replicas have joined: the process of each, by its number. Fewer, if the run
  /// ended.
  std::map<int, pid_t> replicas(int count);

  /// Waits for the end of `muster` itself; reads on meanwhile. After the deadline it is killed.
  Outcome wait();

  /// Live processes that came from this start, `muster` itself included.
  std::vector<pid_t> alive() const;

  /// Waits until none is left, at most for so long; says whether none is.
  bool none_left_within(std::chrono::milliseconds patience) const;

 private:
  bool read_some(std::chrono::steady_clock::time_point deadline);

  std::string mark_;  // in the environment of every process of this start
  pid_t pid_ = -1;
  int out_ = -1;
  std::string err_file_;
  std::string text_;  // read, not yet handed out as lines
  std::string all_out_;
  bool reaped_ = false;
  std::chrono::steady_clock::time_point began_;
};

/// Runs to the end, and checks that no process is left.
Outcome run_muster(const Arguments& arguments, const Environment& environment = {});

/// "127.0.0.1:PORT" with a port that nobody listens on now.
std::string free_address();

/// A folder of its own for one test; gone afterwards.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::string path_;
};

std::string read_text(const std::string& path);
Json read_json(const std::string& path);

/// `muster run` of a job with overrides; its report.
struct RunResult {
  Outcome outcome;
  Json report;
};
RunResult run_job(const std::string& job_file, const Folder& folder, const Arguments& more = {},
                  const Environment& environment = {});

/// A small job: synthetic data, model linear, five shards, an odd number of samples.
std::string linear_job();

}  // namespace muster::cluster_test
