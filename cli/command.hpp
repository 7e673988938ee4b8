// What the commands share: their table, their common options, their exit codes. One file a command.
#pragma once

#include <string>
#include <vector>

#include "muster/job_file.hpp"
#include "muster/registry.hpp"

namespace muster::cli {

inline constexpr int kCompleted = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrong = 2;

using Arguments = std::vector<std::string>;

struct Command {
  const char* name;
  const char* summary;
  bool shown;  ///< in --help
  int (*run)(const Arguments& arguments, const Registry& registry);
};
const std::vector<Command>& commands();

int run_command(const Arguments& arguments, const Registry& registry);
int coordinate_command(const Arguments& arguments, const Registry& registry);
int join_command(const Arguments& arguments, const Registry& registry);
int status_command(const Arguments& arguments, const Registry& registry);
int stop_command(const Arguments& arguments, const Registry& registry);
int plan_command(const Arguments& arguments, const Registry& registry);
int check_command(const Arguments& arguments, const Registry& registry);
int devices_command(const Arguments& arguments, const Registry& registry);
int bench_command(const Arguments& arguments, const Registry& registry);
int scaling_command(const Arguments& arguments, const Registry& registry);
int events_command(const Arguments& arguments, const Registry& registry);
int job_command(const Arguments& arguments, const Registry& registry);
int node_command(const Arguments& arguments, const Registry& registry);

/// The program that is to be typed, as a shell reads it: an embedding program has a name of its own.
const std::string& program();
/// Whatever a shell reads as it stands, or in quotes.
std::string quoted(const std::string& word);

/// Says what is wrong with the command line, on stderr; returns kWrong.
int wrong_usage(const std::string& command, const std::string& what);

/// What --version prints.
std::string version_text();

}  // namespace muster::cli
