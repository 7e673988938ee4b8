// What a user should know of a job that can run, and may not be what was meant. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "muster/job.hpp"
#include "muster/mistake.hpp"

namespace muster {

/// Keys that were written (they have a place) and have no effect, each with the reason. `has_test`: whether
/// the source has data to evaluate on. `may_grow`: more replicas may come than the job says.
std::vector<std::string> idle_keys(const Job& job, const Places& places, bool has_test, bool may_grow);

/// A step that asks for more samples than an epoch has, and shards that get none. `samples`: of an epoch.
std::vector<std::string> data_notices(const Job& job, std::uint64_t samples);

}  // namespace muster
