// What fixes the mathematics of a job, as one text: two jobs with the same text, and the same content of
// their data, give the same weights after each step. Its SHA-256 is the job hash.
#pragma once

#include <string>

#include "muster/job.hpp"
#include "muster/options.hpp"

namespace muster {

/// The keys that count (Key::in_hash) with their values, and the options of model and source but those that
/// name files; a key that is left out reads as its default; and the content of the model's file or library.
/// Model, data content and pipeline, shards, batch, remainder, optimizer, seed, threads per replica are in
/// it; where the job runs, its name, its checkpoints and its end are not.
std::string job_mathematics(const Job& job, const Declarations& declarations);

}  // namespace muster
