// Checks the names of model and source against what is declared, and their options against the declarations.
// `table` is "model" or "data" in each function.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/schema/constraints.hpp"
#include "muster/job.hpp"
#include "muster/mistake.hpp"
#include "muster/options.hpp"

namespace muster {

/// The options of the job's model or source ("model", "data"), declared for the name, the file or the library
/// that the job gives; none where it is not declared, or is not one.
std::optional<std::vector<OptionSpec>> declared_options(const std::string& table, const Job& job,
                                                        const Declarations& declarations);

/// The model or source is given and declared (for models see model_choice.hpp). A mistake marks its key as
/// broken.
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
