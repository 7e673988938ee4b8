// Reads a job from TOML with all its mistakes at once, checks jobs built in C++ by the same rules, and writes
// jobs as TOML. Nothing here throws on bad input; a mistake is a value. Looked at outside of the text is only
// whether declared files are there, what a library of models declares, and the content of the model's file.
// Functions are pure otherwise, and may be called from any thread.
//
//   #include "muster/job_file.hpp"
//   #include "muster/registry.hpp"
//
//   std::optional<muster::Job> read(const std::string& path) {
//     const muster::Registry registry = muster::builtin_registry();
//     const muster::ParsedJob parsed =
//         muster::read_job_file(path, {"train.batch=32"}, registry.declarations());
//     std::fputs(muster::render(parsed.mistakes).c_str(), stderr);
//     return parsed.job;
//   }
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "muster/job.hpp"
#include "muster/mistake.hpp"
#include "muster/options.hpp"

namespace muster {

/// A job that was read, or what is wrong with it.
struct ParsedJob {
  std::optional<Job> job;         ///< present if and only if there is no mistake; defaults are filled in
  Places places;                  ///< of what was given, for mistakes that are found later (data, devices)
  std::vector<Mistake> mistakes;  ///< all that were found
};

/// Reads a job file's text. `sets` are overrides "table.key=value", later ones win; their values are TOML,
/// and what is not valid TOML is a string. A syntax error in the file is reported without the mistakes behind
/// it.
ParsedJob read_job_text(const std::string& text, const std::string& file_name,
                        const std::vector<std::string>& sets, const Declarations& declarations);

/// The same for a file. One that is not there, or cannot be read, is a mistake.
ParsedJob read_job_file(const std::string& path, const std::vector<std::string>& sets,
                        const Declarations& declarations);

/// Every check that reading makes, for a job built in C++ (no places) or read before. Empty: the job can run.
/// Declared options that have a default may be left out of the job.
std::vector<Mistake> check_job(const Job& job, const Places& places, const Declarations& declarations);

/// Fills in the defaults of declared options, epochs = 1 where neither epochs nor steps is given, and the
/// content of the model's file or library where it is not filled in yet. `run` does so by itself.
Job with_defaults(Job job, const Declarations& declarations);

/// The job as a complete job file: every key that applies, options included. read_job_text gives an equal job
/// back.
std::string to_toml(const Job& job);

}  // namespace muster
