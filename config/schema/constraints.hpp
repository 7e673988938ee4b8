// What a job must obey beyond the range of each single key. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "muster/job.hpp"
#include "muster/mistake.hpp"

namespace muster {

/// Keys and tables that already have a mistake. What depends on them is not judged: one slip gives one
/// message.
using BrokenKeys = std::set<std::string>;

/// Whether the key, or a table around it, is broken.
bool is_broken(const BrokenKeys& broken, const std::string& key);

/// Adds a mistake for every rule that the job breaks, but for rules that look at a broken key.
void check_constraints(const Job& job, const Places& places, const BrokenKeys& broken,
                       std::vector<Mistake>& mistakes);

}  // namespace muster
