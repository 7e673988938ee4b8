// What a user should know of a job that can run, and may not be what was meant. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "muster/job.hpp"
#include "muster/mistake.hpp"

namespace muster {

/// Keys that were written (they have a place) and have no effect, each with the reason and, unless that is
/// plain, what to do. `has_test`: whether the source has data to evaluate on. `may_grow`: more replicas may
/// come than the job says.
std::vector<std::string> idle_keys(const Job& job, const Places& places, bool has_test, bool may_grow);

/// A step that asks for more samples than an epoch has, and shards that get none. `samples`: of an epoch.
std::vector<std::string> data_notices(const Job& job, std::uint64_t samples);

/// A learning rate that the training is too short for. `samples`: of an epoch; 0: not known.
std::vector<std::string> rate_notices(const Job& job, std::uint64_t samples);

/// cluster.data_ports that hold the port of the coordinator itself.
std::optional<Mistake> mistake_of_data_ports(const Job& job, std::uint16_t port, const Places& places);

}  // namespace muster
