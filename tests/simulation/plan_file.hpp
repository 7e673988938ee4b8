// A plan as text, whole: what a seed means changes with each new draw, a plan in a file does not. JSON with
// the job as the lines of its job file. Times are in nanoseconds. A key that is left out has its default, so
// that a plan stays readable when plans learn more.
#pragma once

#include <string>

#include "tests/simulation/plan.hpp"

namespace muster::simulation {

/// `found` says what was wrong, for those who read the file; may be empty.
std::string to_json(const Plan& plan, const std::string& found);
/// On one line, to be copied from a log into a file.
std::string to_json_line(const Plan& plan);

struct ReadPlan {
  Plan plan;
  std::string found;
};

/// Throws std::runtime_error, with the file's name and what is wrong in it.
ReadPlan read_plan(const std::string& text, const std::string& file_name);
ReadPlan read_plan_file(const std::string& path);

/// Writes `folder`/seed-N.plan, makes the folder where there is none, and returns the path. Throws
/// std::runtime_error.
std::string save_plan(const Plan& plan, const std::string& found, const std::string& folder);

}  // namespace muster::simulation
