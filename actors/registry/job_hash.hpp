// The job hash, by which nodes and checkpoints of one job know each other.
#pragma once

#include <string>

#include "muster/job.hpp"
#include "muster/options.hpp"

namespace muster {

/// job_mathematics (config/job_hash.hpp), and the content of checkpoint.start_from. May read that file.
std::string mathematics_of(const Job& job, const Declarations& declarations);

/// SHA-256 of mathematics_of, in hexadecimal digits. The content of the data is told apart by
/// DataFacts::fingerprint.
std::string job_hash(const Job& job, const Declarations& declarations);

}  // namespace muster
