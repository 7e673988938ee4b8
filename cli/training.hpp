// What the commands that train share: reading the job, printing and writing what happens.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/job_arguments.hpp"
#include "muster/run.hpp"

namespace muster::cli {

struct Training {
  std::string command;
  std::string usage;
  po::options_description options;  ///< its own; those of the job and of the output are added
  /// Reads its own options; may add overrides of the job. Returns what is wrong, or nothing.
  std::function<std::string(const po::variables_map& given, RunOptions& options,
                            std::vector<std::string>& sets)>
      adjust;
};

/// Trains the job of the command line; returns the exit code.
int train(const Training& training, const Arguments& arguments, const Registry& registry);

}  // namespace muster::cli
