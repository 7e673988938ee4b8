// checkpoint.start_from: the weights that a job begins with, in place of its model's own.
#pragma once

#include <string>
#include <vector>

#include "muster/job.hpp"
#include "muster/model.hpp"

namespace muster {

/// The state that the file holds, in the order of the layout; read anew with each call. Every parameter and
/// buffer must be there with its shape, and nothing else; all values are finite. Throws JobError with the
/// key, and the first names that do not fit.
std::vector<float> start_weights(const std::string& path, const Layout& layout);

/// SHA-256 of the file that checkpoint.start_from names, read once for each change of it; where it is gone,
/// as it was seen last. Empty where the job names none, or it was never there. Any thread. Throws Error.
std::string start_content(const Job& job);

}  // namespace muster
