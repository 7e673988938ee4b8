// The job hash, by which nodes and checkpoints of one job know each other.
#pragma once

#include <string>

#include "muster/config/job.hpp"
#include "muster/config/options.hpp"

namespace muster {

/// SHA-256 of job_mathematics (config/job_hash.hpp), in hexadecimal digits. The content of the data is told
/// apart by DataFacts::fingerprint.
std::string job_hash(const Job& job, const Declarations& declarations);

}  // namespace muster
