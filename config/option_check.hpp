// Checks the names of model and source against what is declared, and their options against the declarations.
// `table` is "model" or "data" in each function.
#pragma once

#include <string>
#include <vector>

#include "muster/config/job.hpp"
#include "muster/config/mistake.hpp"
#include "muster/config/options.hpp"
#include "muster/config/rules.hpp"

namespace muster {

/// The name is given and declared. A mistake marks the name's key as broken.
void check_name(const std::string& table, const Job& job, const Places& places,
                const Declarations& declarations, BrokenKeys& broken, std::vector<Mistake>& mistakes);

/// Every option that the job holds is declared, of its type and in range. For jobs that were not read from
/// TOML.
void check_options(const std::string& table, const Job& job, const Places& places,
                   const Declarations& declarations, BrokenKeys& broken, std::vector<Mistake>& mistakes);

/// Every option without default is given.
void check_missing_options(const std::string& table, const Job& job, const Places& places,
                           const Declarations& declarations, const BrokenKeys& broken,
                           std::vector<Mistake>& mistakes);

}  // namespace muster
