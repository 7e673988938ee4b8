// Which model a job means: one by name, one in a file, or one of a library.
#pragma once

#include <optional>
#include <vector>

#include "config/schema/constraints.hpp"
#include "muster/job.hpp"
#include "muster/mistake.hpp"
#include "muster/options.hpp"

namespace muster {

/// Where the chosen model declares its options; none where not exactly one is chosen, or it is not declared.
std::optional<std::vector<OptionSpec>> chosen_options(const ModelConfig& model,
                                                      const Declarations& declarations);

/// Exactly one is chosen, and it is there. A mistake marks its key as broken. Opens a library.
void check_model_choice(const Job& job, const Places& places, const Declarations& declarations,
                        BrokenKeys& broken, std::vector<Mistake>& mistakes);

/// SHA-256 of the chosen file or library; empty with a name, or where it cannot be read.
std::string chosen_content(const ModelConfig& model, const Declarations& declarations);

}  // namespace muster
