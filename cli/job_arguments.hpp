// The arguments that every command with a job takes: JOB.toml, --replicas, --set.
#pragma once

#include <optional>

#include <boost/program_options.hpp>

#include "cli/command.hpp"

namespace muster::cli {

namespace po = boost::program_options;

/// Adds --replicas, --set and --help to `options`.
void add_job_options(po::options_description& options);

/// Parses; on a wrong command line says so and gives nothing. With --help it prints `usage` and the options,
/// and gives nothing; `code` is then what to return.
std::optional<po::variables_map> parse(const std::string& command, const std::string& usage,
                                       const Arguments& arguments, const po::options_description& options,
                                       const char* positional, int& code);

/// The job file that was named, with its overrides. Its mistakes are printed; then there is no job in it.
ParsedJob read_job(const po::variables_map& given, const Registry& registry,
                   const std::vector<std::string>& more_sets = {});

}  // namespace muster::cli
